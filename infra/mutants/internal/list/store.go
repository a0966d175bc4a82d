package list

import "github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"

var inStore = in("./infra/local/internal/store")

const powerCut = "^TestPowerCutAtEverySync$"

// stores are faults in what keeps the emulators' state.
var stores = []mutant.Mutant{
	{
		Name: "commit-not-synced", Breaks: "A commit is acknowledged before it is durable.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "err := l.out.Sync(); err", After: "err := error(nil); err",
		Tests: inStore, Run: powerCut,
	},
	{
		Name: "segment-without-a-name", Breaks: "A new segment takes commits before its name is durable.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "l.out = out\n\tif err := l.fsys.SyncDir(l.dir); err", After: "l.out = out\n\tif err := error(nil); err",
		Tests: inStore, Run: powerCut,
	},
	{
		Name: "half-carried", Breaks: "Entries of the oldest segment go with it, although they count.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "for _, c := range moved {", After: "for _, c := range moved[:len(moved)/2] {",
		Tests: inStore, Run: powerCut,
	},
	{
		Name: "old-value-carried", Breaks: "A value that was changed since is carried along in place of the new one.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "== (place{s.id, uint32(l.carried) + uint32(offset), uint32(len(c.value))})", After: "!= (place{})",
		Tests: inStore, Run: powerCut,
	},
	{
		Name: "removed-while-read", Breaks: "A segment is removed while somebody reads it.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "if l.pins > 0 {", After: "if false {",
		Tests: inStore, Run: "^TestValuesOutliveTheirSegments$",
	},
	{
		Name: "older-value-read", Breaks: "What was changed twice is read as it was before, while the second change waits.",
		File:   "infra/local/internal/store/disk_commit.go",
		Before: "if d.young[c.key].number == r.number {", After: "if true {",
		Tests: inStore, Run: "^TestWhatWaitsIsRead$",
	},
	{
		Name: "first-segment-not-missed", Breaks: "The loss of the oldest segment goes unnoticed.",
		File:   "infra/local/internal/store/disk_load.go",
		Before: "case last > 0 && l.segments[0].first > base:", After: "case false:",
		Tests: inStore, Run: "^TestDamageInAnyFile$",
	},
	{
		Name: "end-not-missed", Breaks: "The loss of the last acknowledged commits goes unnoticed.",
		File:   "infra/local/internal/store/disk_load.go",
		Before: "case last < acknowledged:", After: "case false:",
		Tests: inStore, Run: "^TestLogCutAtEveryLength$",
	},
	{
		Name: "damage-taken-for-torn", Breaks: "Damage in the middle of the log is taken for its torn end.",
		File:   "infra/local/internal/store/disk_load.go",
		Before: "ok && later.number >= max(first, read.last+1)", After: "ok && later.number == 0",
		Tests: inStore, Run: "^TestDamageUnknownToLabel$",
	},
	{
		Name: "checksum-ignored", Breaks: "A commit with a wrong byte is taken as it is.",
		File:   "infra/local/internal/store/disk_record.go",
		Before: "binary.BigEndian.Uint32(b[8:]) != checksum(b)", After: "false",
		Tests: inStore, Run: "^TestWrongByteInLog$",
	},
	{
		Name: "removals-in-any-order", Breaks: "A power cut may undo the removal of one segment and not that of the one before it.",
		File:   "infra/local/internal/store/disk_log.go",
		Before: "l.fsys.Remove(filepath.Join(l.dir, s.name)), l.fsys.SyncDir(l.dir))", After: "l.fsys.Remove(filepath.Join(l.dir, s.name)))",
		Tests: inStore, Run: "^TestRemovalsAreDurableInTheirOrder$",
	},
}

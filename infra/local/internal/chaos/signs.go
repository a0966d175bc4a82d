package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
)

// Sign shows that one of the hard ways was taken: that a promise was not kept by
// luck.
type Sign string

// The signs.
const (
	Unacknowledged Sign = "answers that it may have been taken" // the hub had not acknowledged
	GapsFilled     Sign = "gaps filled by Relay"
	LeasesLost     Sign = "leases lost"
	LeasesTaken    Sign = "leases taken over"
	DeadLetters    Sign = "dead letters"
	Rescued        Sign = "operations of dead letters put on record"
	LateRefused    Sign = "late calls that met a tombstone"
	UnknownUndone  Sign = "undone, whether it was done or not"
	Repeated       Sign = "cancels that the host sent again"
	Recreated      Sign = "recreated hubs that Relay noticed"
	Recognized     Sign = "operations that came again"
	Outside        Sign = "operations kept outside of their transaction"
	Pickups        Sign = "pickups while an operation was on its way"
	Lost           Sign = "requests for what a rival had"

	// Of a run with several shards.
	Moves  Sign = "changes of the map of the shards"
	Pinned Sign = "new transactions where their caller is pinned"
	Moved  Sign = "repeats of callers whose new transactions went elsewhere by then"
	OldMap Sign = "new transactions that an old map placed in a closing shard"
)

// logged are the lines of the log, by their text and what else must be in them,
// that a sign is read from; {resource} is the business's. Unacknowledged is what clients see, and those from
// Outside on are read from what is stored in the end.
var logged = []struct {
	sign       Sign
	text, also string
}{
	{GapsFilled, "the trigger has skipped events", ""},
	{LeasesLost, "lease lost, results dropped", ""},
	{LeasesTaken, "lease taken over", ""},
	{DeadLetters, "dead letter", ""},
	{Rescued, "operation of a dead letter put on record", ""},
	{LateRefused, host.LateCall, `"status":410`},
	{UnknownUndone, "undone, whether it was done or not", ""},
	{Repeated, host.Repeated, `"request":"DELETE /api/{resource}/`},
	{Recreated, "the hub was recreated", ""},
	{Recognized, "operation comes again", ""},
}

// signs reads the log of the tree while it is written. A tree that is killed
// takes what it has not written with it. Its methods are for one goroutine.
type signs struct {
	path     string
	resource string
	offset   int64
	rest     []byte // of a line without its end
	counts   map[Sign]int
}

func newSigns(path, resource string) *signs {
	return &signs{path: path, resource: resource, counts: map[Sign]int{}}
}

// look reads what has come since the last look.
func (s *signs) look() error {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the signs: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(s.offset, io.SeekStart); err != nil {
		return fmt.Errorf("read the signs: %w", err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read the signs: %w", err)
	}
	s.offset += int64(len(content))
	content = append(s.rest, content...)
	whole := bytes.LastIndexByte(content, '\n') + 1
	for line := range bytes.Lines(content[:whole]) {
		s.read(line)
	}
	s.rest = bytes.Clone(content[whole:])
	return nil
}

func (s *signs) read(line []byte) {
	for _, l := range logged {
		if bytes.Contains(line, []byte(`"msg":"`+l.text+`"`)) && bytes.Contains(line, []byte(strings.ReplaceAll(l.also, "{resource}", s.resource))) {
			s.counts[l.sign]++
		}
	}
}

// ended reads the rest of a log whose tree has ended; the next look is at
// another.
func (s *signs) ended() error {
	err := s.look()
	s.offset, s.rest = 0, nil
	return err
}

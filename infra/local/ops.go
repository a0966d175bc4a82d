package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

const opsCommand = "go run ./infra/local ops"

// opsVerb is one thing that an operator can ask for.
type opsVerb struct {
	name     string // one or two words
	words    string // what comes behind it
	synopsis string
	// define adds the verb's own flags; nil for none.
	define func(*flag.FlagSet, *opsCall)
	run    func(ctx context.Context, c *opsCall) error
}

// opsCall is one call of a verb.
type opsCall struct {
	out     io.Writer
	apps    *ops.Apps
	only    shard.Number // the shard that is meant; 0 for none
	words   []string
	asJSON  bool
	by, why string
	// What is listed, and how much of it.
	state, source, reason string
	partition, from       string // of a replay
	max                   int
	filter                url.Values // of transactions
	asIDs                 bool
	// file names the ids that are acted on, one a line.
	file string
	// tail is set for the verb that reads the hub itself, and calls no app.
	tail *opsTail
	// What is done to the map of the shards; shard is a number, as it was given.
	change shard.Change
	shard  string
	// hubAt is where a hub is managed, and elsewhere tells that the app isn't served in this
	// folder.
	hubAt     string
	elsewhere bool
}

func opsVerbs() []opsVerb {
	of := func(f *flag.FlagSet, c *opsCall) {
		f.Func("shard", "`number` of the shard, where there are several; a list has all by default", func(text string) (err error) {
			c.only, err = shardNumber(text)
			return err
		})
	}
	listed := func(f *flag.FlagSet, c *opsCall) {
		of(f, c)
		f.IntVar(&c.max, "max", 100, "list at most this many")
		f.BoolVar(&c.asIDs, "ids", false, "write the ids alone, one a line, as -f reads them")
	}
	filters := func(f *flag.FlagSet, c *opsCall) {
		listed(f, c)
		c.filter = url.Values{}
		for _, by := range [][2]string{
			{"state", "only in this `state`; open: whatever isn't final; any (default Stuck, and any with -caller)"},
			{"cause", "only those with this `cause`: failed, expired, cancelled, unreachable, failing, forbidden, refused, overdue, dead-letters"},
			{"step", "only those that stand at this `step`"},
			{"caller", "only those of this `caller`"},
			{"from", "only those accepted at this `time` or later, such as 2026-01-31T16:00:00Z"},
			{"until", "only those accepted before this `time`"},
			{"search", "those with this `text` for their id, or for the business's key, and no filter"},
		} {
			f.Func(by[0], by[1], func(value string) error {
				c.filter.Set(by[0], value)
				return nil
			})
		}
	}
	acting := func(f *flag.FlagSet, c *opsCall) {
		f.StringVar(&c.by, "by", userName(), "name of the operator")
		f.StringVar(&c.why, "why", "", "reason; for giveup, what was done by hand (required)")
	}
	acts := func(f *flag.FlagSet, c *opsCall) {
		acting(f, c)
		f.StringVar(&c.file, "f", "", "a `file` that names what to act on, one a line, as list -ids writes it; - for the input")
	}
	actingOf := func(f *flag.FlagSet, c *opsCall) {
		of(f, c)
		acts(f, c)
	}
	return append([]opsVerb{
		{"status", "", "how things stand: what is unusual and what to do, and the flow", of, showStatus},
		{"list", "", "transactions that are Stuck, or pass a filter", filters, listTransactions},
		{"show", "ID", "everything about a transaction, and what to do next", nil, showTransaction},
		{"retry", "ID…", "continue the undo or the run of Stuck transactions", acts, transactionAct(operate.ActRetry, (*ops.Client).Retry)},
		{"giveup", "ID…", "end Stuck transactions that cannot be undone", acts, transactionAct(operate.ActGiveUp, (*ops.Client).GiveUp)},
		{"wake", "ID…", "have open transactions that wait go on now", acts, transactionAct(operate.ActWake, (*ops.Client).Wake)},
		{"quarantine", "", "what could not be processed", func(f *flag.FlagSet, c *opsCall) {
			listed(f, c)
			f.StringVar(&c.source, "source", "", "only from this `source`")
			f.StringVar(&c.reason, "reason", "", "only with this `reason`")
			f.StringVar(&c.state, "state", "", "only in this `state`: Kept, Redriven or Dropped")
		}, listEntries},
		{"quarantine show", "SOURCE ID", "an entry with its body", of, showEntry},
		{"quarantine redrive", "SOURCE ID", "send an entry's request again", actingOf, entryAct(quarantine.ActRedrive)},
		{"quarantine drop", "SOURCE ID", "mark an entry as needing no action", actingOf, entryAct(quarantine.ActDrop)},
		{"tail", "", "accepted requests as JSON lines, from the hub itself", defineTail, tailHub},
		{"partitions", "", "who reads which partition of the hub, how far, and how far behind", of, listPartitions},
		{"replay", "", "hand events of a partition over again, up to where Relay has come", func(f *flag.FlagSet, c *opsCall) {
			of(f, c)
			f.StringVar(&c.partition, "partition", "", "the `partition`'s number (required)")
			f.StringVar(&c.from, "from", "", "the first event: a sequence number, or a time such as 2026-01-31T16:00:00Z (required)")
		}, replay},
	}, shardVerbs(acting)...)
}

// runOps is the operators' command: it speaks HTTP to an app that runs, here or
// elsewhere.
func runOps(ctx context.Context, c console) error {
	if len(c.args) > 0 && (c.args[0] == "-h" || c.args[0] == "-help" || c.args[0] == "--help") {
		return opsUsage(c.out)
	}
	verb, args, err := opsVerbOf(c.args)
	if err != nil {
		if len(c.args) == 0 {
			err = errors.Join(err, opsUsage(c.errOut))
		}
		return err
	}
	call := &opsCall{out: c.out}
	flags := newFlags("ops " + verb.name)
	if verb.define != nil {
		verb.define(flags, call)
	}
	var app string
	var secret opsSecret
	if call.tail == nil {
		flags.StringVar(&app, "url", "", "`URL` of the app (default: the one that serve runs in this folder)")
		secret.define(flags)
		flags.BoolVar(&call.asJSON, "json", false, "write JSON, one object a line")
	}
	if err := parseOps(c, flags, verb, args, call); err != nil {
		return err
	}
	if call.tail != nil {
		return opsError(verb.run(ctx, call))
	}
	if call.elsewhere = app != ""; !call.elsewhere {
		if app, err = servedHere(); err != nil {
			return err
		}
	}
	defer secret.close()
	shown, err := secret.open()
	if err != nil {
		return err
	}
	front, err := ops.NewClient(app, shown)
	if err != nil {
		return &usageError{"ops: -url: " + err.Error()}
	}
	call.apps = ops.NewApps(front, shown)
	defer call.apps.Close()
	return opsError(verb.run(ctx, call))
}

func opsUsage(w io.Writer) error {
	text := "usage: " + opsCommand + " VERB [flags]\n\n"
	for _, v := range opsVerbs() {
		text += fmt.Sprintf("  %-32s %s\n", strings.TrimSpace(v.name+" "+v.words), v.synopsis)
	}
	_, err := io.WriteString(w, text+"\n  VERB -help shows its flags\n"+opsSecretUsage)
	return err
}

// opsVerbOf finds the verb, of two words if there is such a one.
func opsVerbOf(args []string) (verb opsVerb, rest []string, err error) {
	found := 0
	for _, v := range opsVerbs() {
		words := strings.Fields(v.name)
		if len(words) > found && len(args) >= len(words) && strings.Join(args[:len(words)], " ") == v.name {
			verb, rest, found = v, args[len(words):], len(words)
		}
	}
	switch {
	case found > 0:
		return verb, rest, nil
	case len(args) == 0:
		return verb, nil, &usageError{"ops: name a verb; see ops -help"}
	}
	return verb, nil, &usageError{fmt.Sprintf("ops: unknown %q; see ops -help", args[0])}
}

// parseOps reads the words and the flags of a verb, in any order.
func parseOps(c console, flags *flag.FlagSet, verb opsVerb, args []string, call *opsCall) error {
	flags.SetOutput(io.Discard)
	for {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(c.out)
			fmt.Fprintf(c.out, "usage: %s\n\n%s\n\n", strings.TrimSpace(opsCommand+" "+verb.name+" "+verb.words)+" [flags]", verb.synopsis)
			flags.PrintDefaults()
			return err
		}
		if err != nil {
			return &usageError{fmt.Sprintf("%s: %v; see %s -help", flags.Name(), err, flags.Name())}
		}
		if flags.NArg() == 0 {
			break
		}
		call.words, args = append(call.words, flags.Arg(0)), flags.Args()[1:]
	}
	want, several := strings.Fields(verb.words), strings.HasSuffix(verb.words, "…")
	if call.file != "" && !several {
		want = nil // the file has them
	}
	if few, many := len(call.words) < len(want) && call.file == "", len(call.words) > len(want) && !several; few || many {
		return &usageError{fmt.Sprintf("%s: %d words, want %s; see %s -help", flags.Name(), len(call.words), cmp.Or(verb.words, "none"), flags.Name())}
	}
	if flags.Lookup("why") != nil {
		for _, said := range []struct {
			name, text string
			limit      int
		}{{"-by", call.by, operate.MaxBy}, {"-why", call.why, operate.MaxWhy}} {
			if err := operate.CheckText(said.text, said.limit); err != nil {
				return &usageError{fmt.Sprintf("%s: %s %v", flags.Name(), said.name, err)}
			}
		}
	}
	if flags.Lookup("partition") != nil && (call.partition == "" || call.from == "") {
		return &usageError{flags.Name() + ": -partition and -from are required"}
	}
	if flags.Lookup("max") != nil && call.max < 1 {
		return &usageError{fmt.Sprintf("%s: -max %d: use 1 or more", flags.Name(), call.max)}
	}
	return nil
}

// userName is the operating system's word for who is at work, "" if it has
// none.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// endpointsHere returns what runs in this folder. other is how to name what runs
// elsewhere.
func endpointsHere(other string) (served system.Endpoints, err error) {
	project, err := stage.FindProject(".")
	if err != nil {
		return served, fmt.Errorf("%w; or name %s", err, other)
	}
	data, err := os.ReadFile(filepath.Join(project, ".build", "local", "endpoints.json"))
	if err != nil {
		return served, fmt.Errorf("%w in this folder: %w", ops.ErrNotServed, err)
	}
	if err := json.Unmarshal(data, &served); err != nil {
		return served, fmt.Errorf("read endpoints.json: %w", err)
	}
	return served, nil
}

// servedHere returns the URL of the app that runs in this folder.
func servedHere() (string, error) {
	served, err := endpointsHere("the app with -url URL")
	if err != nil {
		return "", err
	}
	if served.HTTP == "" { // emulators alone
		return "", fmt.Errorf("%w in this folder but emulators", ops.ErrNotServed)
	}
	return "http://" + served.HTTP, nil
}

// opsError adds to an error what to do about it.
func opsError(err error) error {
	var p *problem.Problem
	switch {
	case errors.Is(err, ops.ErrWhichShard):
		return &usageError{"ops: " + err.Error()}
	case errors.Is(err, ops.ErrNotServed):
		return fmt.Errorf("%w; start the app with go run ./infra/local serve, or name another with -url URL", err)
	case errors.As(err, &p):
		return fmt.Errorf("refused: %w", err)
	}
	return err
}

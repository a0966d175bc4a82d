package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

func usage(w io.Writer) error {
	text := "Runs the whole system on this machine.\n\nusage: go run ./infra/local [command] [flags]\n\n"
	for _, cmd := range commands() {
		text += fmt.Sprintf("  %-10s %s\n", cmd.name, cmd.synopsis)
	}
	text += "\n  -help      this text; after a command, its flags\n  -version   the version this was built from\n"
	_, err := io.WriteString(w, text)
	return err
}

// version prints what the Go tool recorded in the binary.
func version(w io.Writer) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary holds no build information")
	}
	text := info.Main.Path + " " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.time" {
			text += " " + s.Value
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			text += " (modified)"
		}
	}
	_, err := fmt.Fprintf(w, "%s %s %s/%s\n", text, info.GoVersion, runtime.GOOS, runtime.GOARCH)
	return err
}

// parse reads a command's flags. Words that are left over are a mistake. The command's
// help begins with intro, if it has one.
func parse(c console, flags *flag.FlagSet, intro ...string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(c.args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(c.out)
		fmt.Fprint(c.out, cmp.Or(strings.Join(intro, ""), "usage: go run ./infra/local "+flags.Name()+" [flags]\n\n"))
		flags.PrintDefaults()
		return err
	case err != nil:
		return &usageError{fmt.Sprintf("%s: %v; see %s -help", flags.Name(), err, flags.Name())}
	case flags.NArg() > 0:
		return &usageError{fmt.Sprintf("%s: unexpected %q; see %s -help", flags.Name(), flags.Arg(0), flags.Name())}
	}
	return nil
}

func newFlags(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }

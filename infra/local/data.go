package main

import (
	"flag"
	"fmt"
	"path/filepath"
)

// dataFlags say where the emulators keep their state.
type dataFlags struct {
	kept      bool // unless told otherwise, in the default folder; set before define
	folder    string
	ephemeral bool
}

func (f *dataFlags) define(flags *flag.FlagSet) {
	otherwise := "default: keep nothing"
	if f.kept {
		otherwise = "default .build/local/data"
	}
	flags.StringVar(&f.folder, "data", "", "`folder` that keeps the state across restarts ("+otherwise+")")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "start empty and keep no state")
}

func (f *dataFlags) check(command string) error {
	if f.folder != "" && f.ephemeral {
		return &usageError{fmt.Sprintf("%s: -data and -ephemeral: use one of them", command)}
	}
	return nil
}

// in returns the folder to use, by default one in dir; "" for none.
func (f *dataFlags) in(dir string) string {
	switch {
	case f.folder != "":
		return f.folder
	case f.ephemeral || !f.kept:
		return ""
	default:
		return relative(filepath.Join(dir, "data"))
	}
}

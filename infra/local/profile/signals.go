//go:build unix

package profile

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Begin and End are the signals to a process that writes profiles.
var Begin, End os.Signal = syscall.SIGUSR1, syscall.SIGUSR2

// Obey writes profiles of this process, under its name, into the folder that Variable
// names whenever Begin and then End arrive. It does nothing without Variable.
func Obey(name string) {
	dir := os.Getenv(Variable)
	if dir == "" {
		return
	}
	arrived := make(chan os.Signal, 8)
	signal.Notify(arrived, Begin, End)
	go func() {
		p := profiles{dir: dir, name: name}
		for s := range arrived {
			do := p.begin
			if s == End {
				do = p.end
			}
			if err := do(); err != nil {
				slog.Error("write a profile", "error", err)
			}
		}
	}()
}

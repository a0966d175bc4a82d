package effect

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Plan says which effects are a handler's last.
type Plan struct {
	// Run names the run in 8 characters. Its handlers are known by it: the ids of
	// their instances begin with it.
	Run string `json:"run"`
	// Points are at which passing a point ends its handler, 1 for the first one since
	// the plan is in force. Each process of the runtime counts for itself.
	Points map[string]int `json:"points"`
}

// InstanceID returns the id of an instance of the run's app, in the form of the
// platform's.
func (p Plan) InstanceID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return p.Run + hex.EncodeToString(sum[:])[len(p.Run):]
}

// The files of a folder.
func planFile(dir string) string   { return filepath.Join(dir, "plan.json") }
func deathsFile(dir string) string { return filepath.Join(dir, "deaths.txt") }

// Write puts a plan in force for all that watch the folder, in one go: it may be
// read at any moment.
func (p Plan) Write(dir string) error {
	content, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(planFile(dir)+".new", content, 0o600)
	}
	if err == nil {
		err = os.Rename(planFile(dir)+".new", planFile(dir))
	}
	if err != nil {
		return fmt.Errorf("write the plan of crashes: %w", err)
	}
	return nil
}

// active is a plan in force.
type active struct {
	Plan
	text   []byte
	passed map[string]*atomic.Int64 // by point of the plan
}

// readPlan returns the plan of a folder, now if that is the one that is there.
func readPlan(dir string, now *active) (*active, error) {
	text, err := os.ReadFile(planFile(dir))
	if err != nil {
		return nil, fmt.Errorf("read the plan of crashes: %w", err)
	}
	if now != nil && bytes.Equal(text, now.text) {
		return now, nil
	}
	next := &active{text: text, passed: map[string]*atomic.Int64{}}
	if err := json.Unmarshal(text, &next.Plan); err != nil {
		return nil, fmt.Errorf("read the plan of crashes: %w", err)
	}
	if len(next.Run) != 8 {
		return nil, fmt.Errorf("read the plan of crashes: the run's name %q has not 8 characters", next.Run)
	}
	for point := range next.Points {
		next.passed[point] = new(atomic.Int64)
	}
	return next, nil
}

// another marks a line of the deaths that tells that a process was killed which
// was not the effect's.
const another = "another: "

// noteDeath appends a line to the deaths. A line is written in one go: several
// processes do.
func noteDeath(dir, line string) error {
	file, err := os.OpenFile(deathsFile(dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note a death: %w", err)
	}
	_, err = file.WriteString(line + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("note a death: %w", err)
	}
	return nil
}

// Deaths returns how many handlers have died at each point. It fails if another
// process than the effect's was killed. A last line without its end is still
// being written.
func Deaths(dir string) (map[string]int, error) {
	deaths := map[string]int{}
	content, err := os.ReadFile(deathsFile(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the deaths: %w", err)
	}
	for line := range strings.Lines(string(content[:bytes.LastIndexByte(content, '\n')+1])) {
		point := strings.TrimSuffix(line, "\n")
		if what, wrong := strings.CutPrefix(point, another); wrong {
			return nil, fmt.Errorf("the runtime killed another process than the effect's: %s", what)
		}
		deaths[point]++
	}
	return deaths, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/simulate"
)

// aDay has spikes of 10 000, 50 000 and 1 000 000 requests/s.
const aDay = "1000:6h,1000-10000:2h,10000:4h,50000:5m,10000:3h55m,1000000:1m,10000:2h,10000-1000:2h,1000:3h59m"

// simulated is the step of time, and simulatedAfter how long it goes on to work off
// what waits.
const (
	simulated      = 10 * time.Second
	simulatedAfter = 7 * 24 * time.Hour // what a hub keeps
)

// runSimulate follows a day's requests through the size large.
func runSimulate(_ context.Context, c console) error {
	flags := newFlags("simulate")
	rates := flags.String("rate", aDay, "requests a second: `stages` such as 200:1h (a step) or 200-1000:30m (a ramp), separated by commas")
	shards := flags.Int("shards", 1, "shards, each of the size large")
	starting := flags.Duration("starting", time.Minute, "how long a further instance of an app takes until it works, which Azure doesn't promise")
	file := flags.String("svg", filepath.Join(".build", "simulate.svg"), "`file` for the plot")
	if err := parse(c, flags); err != nil {
		return err
	}
	shape, err := load.ParseShape(*rates)
	if err != nil {
		return &usageError{"simulate: -rate: " + err.Error()}
	}
	if shape.Duration() < simulated {
		return &usageError{fmt.Sprintf("simulate: -rate: %v is less than a step, %v", shape.Duration(), simulated)}
	}
	if *shards < 1 || *shards > simulate.MaxShards {
		return &usageError{fmt.Sprintf("simulate: -shards %d: use 1 to %d", *shards, simulate.MaxShards)}
	}
	if *starting < 0 {
		return &usageError{fmt.Sprintf("simulate: -starting %v: a time can't be negative", *starting)}
	}
	points := simulate.Run(simulate.Large(*shards, *starting), shape, simulated, simulatedAfter)
	if err := simulate.WriteText(c.out, shape, points); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*file), 0o700); err != nil {
		return err
	}
	svg, err := os.Create(*file)
	if err != nil {
		return err
	}
	if err := errors.Join(simulate.Plot(points, simulated).WriteSVG(svg), svg.Close()); err != nil {
		return fmt.Errorf("write %s: %w", *file, err)
	}
	_, err = fmt.Fprintln(c.out, "plot:", *file)
	return err
}

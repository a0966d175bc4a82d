package main

import (
	"errors"
	"os"

	trial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// samples are requests that complete, for load and bench, from a file if there is
// one. The environment wins over the trial's settings, as it does with serve.
func samples(file string, seed uint64) (load.Samples, error) {
	b := chosen.Business()
	var steps []string
	for _, step := range b.Workflow.Steps {
		steps = append(steps, step.Name)
	}
	s := load.Samples{Resource: b.Resource, Steps: steps}
	if t := trial.Trial(); t != nil {
		var err error
		if s, err = load.FromTrial(*t, b.Resource, steps, seed); err != nil {
			return s, err
		}
		for name := range s.Settings {
			if value, ok := os.LookupEnv(name); ok {
				s.Settings[name] = value
			}
		}
	}
	if file == "" && s.Body == nil {
		return s, errors.New("the business has no trial that samples could be drawn from: name a file")
	}
	if file == "" {
		return s, nil
	}
	return s.WithRequests(file)
}

package main

import (
	"errors"
	"fmt"
	"os"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

const samplesUsage = "JSON `file` with sample requests, instead of the trial's; docs/local.md describes it"

// errNoTrial is returned when nothing says what is to be sent.
var errNoTrial = errors.New("this business has no trial: name a file with sample requests with -samples")

// trialOf returns what is sent, and how that is judged: by the trial of the business,
// or with samples from a file by the rules of every business alone.
func trialOf(samples string) (trial.Trial, *invariant.Subject, error) {
	b, t := chosen.Business(), chosentrial.Trial()
	if samples == "" {
		if t == nil {
			return trial.Trial{}, nil, errNoTrial
		}
		subject, err := invariant.NewSubject(b, t)
		return *t, subject, err
	}
	data, err := os.ReadFile(samples)
	if err != nil {
		return trial.Trial{}, nil, fmt.Errorf("read the samples: %w", err)
	}
	read, err := trial.FromFile(data)
	if err != nil {
		return trial.Trial{}, nil, fmt.Errorf("read the samples in %s: %w", samples, err)
	}
	subject, err := invariant.NewSubject(b, nil)
	return read, subject, err
}

package infra_test

import (
	"slices"
	"testing"
)

// check judges a world and says what is wrong in it, one text each.
type check struct {
	name string
	run  func(*world) []string
}

// checks are all of them. TestChecksCanFail has at least one fault for each.
func checks() []check {
	return slices.Concat(settingsChecks, functionChecks, entityChecks, databaseChecks, tierChecks, roleChecks,
		securityChecks, projectChecks, timingChecks, operationChecks, capacityChecks, flexChecks)
}

// TestInfrastructureFitsTheCode deploys every scenario and holds it to the code.
func TestInfrastructureFitsTheCode(t *testing.T) {
	said := map[string]bool{}
	for _, s := range scenarios() {
		w, err := load("..", s)
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for _, c := range checks() {
			for _, problem := range c.run(w) {
				if !said[problem] { // the same in most scenarios
					t.Errorf("%s: %s (%v)", c.name, problem, s)
				}
				said[problem] = true
			}
		}
	}
}

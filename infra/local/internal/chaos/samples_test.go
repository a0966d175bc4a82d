package chaos

import (
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// drawn is the body of a request of the samples.
type drawn struct {
	Owner string    `json:"owner"` // "" is malformed
	Name  string    `json:"name"`
	Final time.Time `json:"final"` // when the world does its part
}

func draw(d trial.Draw) any { return drawn{"o", d.Name, d.At.Add(d.Wait)} }

// samples are those of a business in small.
var samples = trial.Trial{
	Kinds: []trial.Kind{
		{Name: "plain", End: workflow.Completed, Draw: draw},
		{Name: "far", Percent: 8, End: workflow.Completed, Draw: draw},
		{Name: "suspended", Percent: 2, End: workflow.Rejected, Draw: draw},
		{Name: "heavy", Percent: 5, End: workflow.Compensated, Draw: draw},
		{Name: "malformed", Percent: 2, Draw: func(d trial.Draw) any { return drawn{Name: d.Name} }},
	},
	Rivals: []workflow.State{workflow.Rejected},
	Change: func(d trial.Draw, _ json.RawMessage) any { return d.Random.IntN(1000) },
}

// things is the business in small: the world makes final what the function Flights
// does.
var things = business.Business{
	Resource: "things",
	Workflow: workflow.Definition{Steps: []workflow.Step{{
		Name: "fly", Pivot: true, Call: func(workflow.Input) workflow.Call { return workflow.Call{Backend: "air"} },
	}}},
	Backends: []business.Backend{
		{Name: "ground", Functions: []business.Function{{Name: "Cars"}, {Name: "Garages"}}},
		{Name: "air", Functions: []business.Function{{Name: "Flights"}}},
	},
}

const pivotal = "Flights"

// kindNamed returns a kind of the samples.
func kindNamed(name string) trial.Kind {
	for _, k := range samples.Kinds {
		if k.Name == name {
			return k
		}
	}
	panic("there is no kind " + name)
}

package fault

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	usual := func(change func(rates map[Point]float64)) map[Point]float64 {
		rates := All(0).Rates
		change(rates)
		return rates
	}
	for spec, want := range map[string]map[Point]float64{
		"":                       {},
		"  ":                     {},
		"none":                   {},
		"all":                    usual(func(map[Point]float64) {}),
		"all,none":               {},
		"all,none,amqp.drop":     {AMQPDrop: 0.0005},
		"handler":                {HandlerKill: 12, HandlerFreeze: 0},
		"handler.kill=3":         {HandlerKill: 3},
		"amqp":                   {AMQPRefuse: 0.05, AMQPDrop: 0.0005, AMQPSlow: 0.002},
		"amqp=0.5":               {AMQPRefuse: 0.5, AMQPDrop: 0.5, AMQPSlow: 0.5},
		"amqp, -amqp.slow":       {AMQPRefuse: 0.05, AMQPDrop: 0.0005},
		"amqp.drop=1,amqp":       {AMQPRefuse: 0.05, AMQPDrop: 0.0005, AMQPSlow: 0.002},
		"amqp,amqp.drop=1":       {AMQPRefuse: 0.05, AMQPDrop: 1, AMQPSlow: 0.002},
		"amqp.drop=0":            {AMQPDrop: 0},
		"all,-cosmos,-amqp":      usual(func(r map[Point]float64) { drop(r, "cosmos", "amqp") }),
		"all,-all":               {},
		"servicebus.busy=.25":    {ServiceBusBusy: 0.25},
		"backend.error@Packages": {"backend.error@Packages": 0.05},
		"backend@P=1,-backend.late@P,-backend@Q": {"backend.error@P": 1, "backend.slow@P": 1, "backend.reset@P": 1, "backend.answerlost@P": 1,
			"backend.away@P": 1, "backend.forbidden@P": 1, "backend.notfound@P": 1},
		"all,-backend.undorefused": usual(func(r map[Point]float64) {
			delete(r, BackendUndoRefused)
		}),
	} {
		got, err := Parse(spec, 42)
		if err != nil || got.Seed != 42 {
			t.Errorf("%q: seed %d, %v", spec, got.Seed, err)
		}
		if diff := cmp.Diff(want, got.Rates); diff != "" {
			t.Errorf("%q: %s", spec, diff)
		}
	}
}

func drop(rates map[Point]float64, groups ...string) {
	for _, info := range Points {
		for _, g := range groups {
			if group(info.Point) == g {
				delete(rates, info.Point)
			}
		}
	}
}

func TestParseNamesAllProblems(t *testing.T) {
	for spec, want := range map[string][]string{
		"al,cosmos.thottle,amqp": {`"al"`, `"cosmos.thottle"`, "there is: all, none, amqp, amqp.refuse", "host.ownership"},
		"amqp.drop=often":        {"amqp.drop=often", "not a number"},
		"amqp.drop=2":            {"amqp.drop: rate 2"},
		"amqp.drop=nan":          {"amqp.drop: rate NaN"},
		"-amqp=1":                {`"-amqp=1"`, "no rate"},
		"none=1":                 {`"none=1"`},
		"-none":                  {`"-none"`},
		"amqp,,cosmos":           {`""`},
		"cosmos@Packages":        {`"cosmos@Packages"`, "name a function"},
		"backend.away@":          {`"backend.away@"`, "name a function"},
		"backend.undorefused@P":  {"name a function"},
		"backend.slow@P=2":       {"backend.slow@P: rate 2"},
		"x=1,handler=1000":       {`"x=1"`, "1000 a minute"},
	} {
		p, err := Parse(spec, 1)
		if err == nil {
			t.Errorf("%q is %+v", spec, p)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %q is not in error %v", spec, part, err)
			}
		}
		if known := strings.Contains(err.Error(), "there is: "); known != strings.Contains(err.Error(), "there is no fault") {
			t.Errorf("%q: error %v", spec, err)
		}
	}
}

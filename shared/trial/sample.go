package trial

import (
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Kind is a kind of sample requests. Clients send some of any kind twice, cancel
// some and change some; those may end Cancelled besides.
type Kind struct {
	Name string // for people, such as "too heavy"
	Text string // for people: why it ends as it does
	// Percent is how many of a hundred requests are of the kind; 0 takes the rest.
	Percent int
	// End is the state in which a request ends whose client does nothing more. ""
	// means that it is malformed and refused with 400: such requests come on top. What
	// would be Rejected may be Compensated if something was in doubt: after a crash, or
	// without an answer.
	End workflow.State
	// Draw returns the body of a request, as JSON. It draws the same for the same.
	Draw func(Draw) any
}

// Draw is what a sample is drawn from.
type Draw struct {
	Random *rand.Rand
	// Name is the request's alone: ids in it are made of it.
	Name string
	// At is when it is sent, or nearly.
	At time.Time
	// Wait is how long after that the world is to do what can't be undone, in the time
	// of the run: until then its client may change his mind. 0 means at once. A
	// business that can't wait ignores it, and its clients may come too late.
	Wait time.Duration
}

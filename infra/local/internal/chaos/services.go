package chaos

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Services that aren't the app's own answer some requests later than the profile
// chaos waits for a call: nobody knows then what became of them.
const (
	lateAnswerShare = 0.1
	lateAnswer      = 1500 * time.Millisecond
)

// lateAnswers tells for each request how late it is answered: none once the faults
// have ended.
func (r *run) lateAnswers() func() time.Duration {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(r.c.Seed, 0x6c617465))
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if r.quiet.Load() || random.Float64() >= lateAnswerShare {
			return 0
		}
		return lateAnswer
	}
}

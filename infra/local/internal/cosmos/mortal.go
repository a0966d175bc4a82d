package cosmos

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
)

// mortal handles a write, unless its client dies before that or, once it is done,
// behind it.
func mortal(handle handler) handler {
	return func(s *Server, c *call) (*response, error) {
		effects := c.effects()
		if s.dies(c, effect.Before, effects) {
			return nil, errAnswerLost
		}
		answer, err := handle(s, c)
		if err == nil && answer.status < http.StatusMultiStatus && s.dies(c, effect.Answer, effects) {
			return nil, errAnswerLost
		}
		return answer, err
	}
}

// effects are the names of a write: of the container, and of the state that the
// item is to have, if it has one.
func (c *call) effects() []string {
	container := c.target.id(1)
	effects := []string{effect.Write(container, "")}
	if item, err := sql.Decode(c.body); err == nil {
		if state := item.Member("state").Text(); state != "" {
			effects = append(effects, effect.Write(container, state))
		}
	}
	return effects
}

// dies kills the client if this is its last effect, and holds the call until the
// client is gone.
func (s *Server) dies(c *call, ending string, effects []string) bool {
	death := s.crashes.Passes(c.UserAgent(), ending, effects...)
	if death == nil {
		return false
	}
	death.Bring(c.Context().Done())
	return true
}

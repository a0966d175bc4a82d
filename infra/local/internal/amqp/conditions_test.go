package amqp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestStatusOf(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err  error
		code int32
		text string
	}{
		{nil, 200, "OK"},
		{errors.New("disk full"), 500, "disk full"},
		{Errorf(CondNotFound, "no queue %s", "q"), 404, "no queue q"},
		{fmt.Errorf("renew: %w", Errorf(CondMessageLockLost, "lost")), 410, "lost"},
		{Errorf(CondSessionLockLost, "lost"), 410, "lost"},
		{Errorf(CondUnauthorizedAccess, "no"), 401, "no"},
		{Errorf(CondNotAllowed, "no"), 403, "no"},
		{Errorf(CondTimeout, "late"), 408, "late"},
		{Errorf(CondServerBusy, "busy"), 503, "busy"},
		{Errorf(CondArgumentOutOfRange, "range"), 400, "range"},
		{Errorf("some:other", "what"), 500, "what"},
	}
	for _, c := range cases {
		if code, text := StatusOf(c.err); code != c.code || text != c.text {
			t.Errorf("StatusOf(%v) = %d %q, want %d %q", c.err, code, text, c.code, c.text)
		}
	}
}

// An error's text fits a frame whatever the Service says.
func TestLongDescription(t *testing.T) {
	t.Parallel()
	b, err := (&closeFrame{err: Errorf(CondInternalError, "%s\xff", strings.Repeat("ä", 5000))}).append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var s scratch
	p, _, err := s.decode(b)
	if got, ok := p.(*closeFrame); err != nil || !ok || got.err.Description != strings.Repeat("ä", 2048) {
		t.Errorf("%v, %v", p, err)
	}
}

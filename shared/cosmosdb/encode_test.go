package cosmosdb

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

func TestWithID(t *testing.T) {
	type thing struct {
		Name string `json:"name"`
	}
	type named struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	cases := []struct {
		v    any
		want string // "" means an error
	}{
		{thing{"x"}, `{"id":"a","name":"x"}`},
		{named{"other", "x"}, `{"id":"a","name":"x"}`},
		{map[string]int{}, `{"id":"a"}`},
		{[]int{1}, ""},
		{nil, ""},
		{func() {}, ""},
	}
	for _, c := range cases {
		doc, err := withID(c.v, "a")
		if string(doc) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%T: got %s, %v, want %s", c.v, doc, err, c.want)
		}
	}
}

func TestPageRefusesWhatIsNoFieldName(t *testing.T) {
	s := &Records[struct{}]{&Container{name: "things"}}
	for _, field := range []string{"", "a b", `a"] = 1 OR c["b`, "1a", "a.b"} {
		if _, _, err := s.Page(t.Context(), field, "v", ""); !failure.Is(err, failure.Invalid) {
			t.Errorf("field %q: got %v, want invalid", field, err)
		}
	}
}

func TestContainersAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Containers {
		if seen[c.Name] || c.PartitionKey == "" || c.PartitionKey[0] != '/' || c.DefaultTTLSeconds < -1 {
			t.Errorf("bad or repeated container %+v", c)
		}
		seen[c.Name] = true
	}
}

package cosmos

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// patchCases say what an operation leaves in the text of the item; empty for a
// refusal.
var patchCases = []struct{ op, want string }{
	{`{"op":"add","path":"/new","value":{"x":1.0}}`, `"z":null,"new":{"x":1.0}}`},
	{`{"op":"add","path":"/n","value":9}`, `"n":9,`},
	{`{"op":"add","path":"/list/1","value":9}`, `"list":[1,9,2,3]`},
	{`{"op":"add","path":"/list/3","value":9}`, `"list":[1,2,3,9]`},
	{`{"op":"add","path":"/list/-","value":9}`, `"list":[1,2,3,9]`},
	{`{"op":"add","path":"/list/4","value":9}`, ``},
	{`{"op":"add","path":"/sub/k2","value":null}`, `"sub":{"k":1,"k2":null}`},
	{`{"op":"add","path":"/gone/k","value":9}`, ``},
	{`{"op":"add","path":"/s/k","value":9}`, ``},
	{`{"op":"add","path":"/a~1b~0c","value":9}`, `"a/b~c":9}`},
	{`{"op":"add","path":"/n"}`, ``},
	{`{"op":"set","path":"/new","value":9}`, `"new":9}`},
	{`{"op":"set","path":"/list/1","value":9}`, `"list":[1,9,3]`},
	{`{"op":"set","path":"/list/3","value":9}`, `"list":[1,2,3,9]`},
	{`{"op":"set","path":"/sub","value":[]}`, `"sub":[]`},
	{`{"op":"set","path":"/ttl","value":60}`, `"ttl":60}`},
	{`{"op":"set","path":"/ttl","value":0}`, ``},
	{`{"op":"replace","path":"/n","value":9}`, `"n":9,`},
	{`{"op":"replace","path":"/new","value":9}`, ``},
	{`{"op":"replace","path":"/z","value":9}`, `"z":9}`},
	{`{"op":"replace","path":"/list/0","value":9}`, `"list":[9,2,3]`},
	{`{"op":"replace","path":"/list/-","value":9}`, ``},
	{`{"op":"remove","path":"/n"}`, `"pk":"p","f":`},
	{`{"op":"remove","path":"/list/0"}`, `"list":[2,3]`},
	{`{"op":"remove","path":"/new"}`, ``},
	{`{"op":"remove","path":"/list/3"}`, ``},
	{`{"op":"incr","path":"/n","value":41}`, `"n":42,`},
	{`{"op":"incr","path":"/n","value":-0.5}`, `"n":0.5,`},
	{`{"op":"incr","path":"/n","value":9007199254740992}`, `"n":9007199254740993,`},
	{`{"op":"incr","path":"/n","value":9223372036854775807}`, `"n":9223372036854776000,`},
	{`{"op":"incr","path":"/new","value":3}`, `"new":3}`},
	{`{"op":"incr","path":"/list/2","value":1}`, `"list":[1,2,4]`},
	{`{"op":"incr","path":"/s","value":1}`, ``},
	{`{"op":"incr","path":"/n","value":"1"}`, ``},
	{`{"op":"move","from":"/sub/k","path":"/k"}`, `"sub":{},"z":null,"k":1}`},
	{`{"op":"move","from":"/gone","path":"/k"}`, ``},
	{`{"op":"copy","from":"/n","path":"/k"}`, ``},
	{`{"op":"set","path":"/id","value":"b"}`, ``},
	{`{"op":"set","path":"/pk","value":"q"}`, ``},
	{`{"op":"set","path":"/pk/x","value":"q"}`, ``},
	{`{"op":"remove","path":"/_etag"}`, ``},
	{`{"op":"set","path":"n","value":1}`, ``},
	{`{"op":"set","path":"/","value":1}`, ``},
}

// Ensure what each patch operation does, by the table in "Partial document
// update in Azure Cosmos DB"; an empty want means 400.
func TestPatchOperations(t *testing.T) {
	const before = `{"id":"a","pk":"p","n":1,"f":1.5,"s":"x","list":[1,2,3],"sub":{"k":1},"z":null}`
	c := newContainer(&database{}, "c", 1, 1, &settings{properties: decode(t, plainContainer)})
	existing := decode(t, before)
	for _, tc := range patchCases {
		p, err := parsePatch(c, decode(t, `{"operations":[`+tc.op+`]}`))
		var d draft
		if err == nil {
			d, err = p.apply(c, existing)
		}
		var refused *apiError
		switch got := string(sql.AppendJSON(nil, d.value)); {
		case tc.want == "" && (!errors.As(err, &refused) || refused.status != http.StatusBadRequest):
			t.Errorf("%s: error %v, want 400; gives %s", tc.op, err, got)
		case tc.want != "" && (err != nil || !strings.Contains(got, tc.want)):
			t.Errorf("%s: error %v, gives %s, want %s in it", tc.op, err, got, tc.want)
		}
	}
	if got := string(sql.AppendJSON(nil, existing)); got != before {
		t.Errorf("the item itself changed to %s", got)
	}
}

// Ensure that a patch is done whole or not at all, and only under its condition.
func TestPatchItem(t *testing.T) {
	f := newFixture(t, plainContainer)
	f.want(f.item("POST", "", `{"id":"a","pk":"p","n":1}`), http.StatusCreated)
	f.refuses(f.item("PATCH", "a", `{"operations":[{"op":"set","path":"/n","value":2},{"op":"remove","path":"/gone"}]}`), 400, "0", "no path found")
	f.refuses(f.item("PATCH", "a", `{"condition":"from c where c.n = 2","operations":[{"op":"incr","path":"/n","value":1}]}`), 412, "0", "precondition")
	f.refuses(f.item("PATCH", "a", `{"condition":"from c where c.n = ","operations":[{"op":"incr","path":"/n","value":1}]}`), 400, "0", "SC1002")
	f.refuses(f.item("PATCH", "a", `{"operations":[]}`), 400, "0", "no operations")
	eleven := strings.Repeat(`{"op":"incr","path":"/n","value":1},`, 11)
	f.refuses(f.item("PATCH", "a", `{"operations":[`+eleven[:len(eleven)-1]+`]}`), 400, "0", "'10'")
	got := f.want(f.item("PATCH", "a", `{"condition":"from c where c.n = 1","operations":[{"op":"incr","path":"/n","value":1}]}`), http.StatusOK)
	if got["n"] != 2.0 {
		t.Errorf("n is %v, want 2", got["n"])
	}
}

func decode(t *testing.T, text string) sql.Value {
	t.Helper()
	v, err := sql.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

package problem_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

type place struct {
	Latitude  float64  `json:"latitude"`
	Longitude float64  `json:"longitude"`
	Altitude  *float64 `json:"altitude,omitempty"`
}

type base struct {
	Owner string `json:"owner"`
}

type size string

func (s *size) UnmarshalText(text []byte) error {
	if string(text) != "Small" {
		return errors.New("must be Small")
	}
	*s = size(text)
	return nil
}

type order struct {
	base
	Base    base `json:"base"`
	Pickup  place
	Time    time.Time         `json:"time"`
	Size    size              `json:"size"`
	Rush    bool              `json:"rush"`
	Count   int8              `json:"count"`
	Flags   uint16            `json:"flags"`
	Stops   []place           `json:"stops"`
	Tags    map[string]string `json:"tags"`
	Raw     json.RawMessage   `json:"raw"`
	Data    []byte            `json:"data"`
	Skipped string            `json:"-"`
	hidden  string
}

func TestDecodeAccepts(t *testing.T) {
	var got order
	body := ` {"owner":"o","base":{"owner":"b"},"Pickup":{"latitude":1,"longitude":2.5,"altitude":null},
		"time":"2026-01-31T16:00:00Z","size":"Small","rush":true,"count":-3,"flags":9,"stops":[ {"latitude":1} , {} ],
		"tags":{"a":"b","A":"c"},"raw":{"any":["thing"]},"data":"aGk="}
	`
	if p := problem.Decode([]byte(body), &got); p != nil {
		t.Fatal(p)
	}
	want := order{base: base{"o"}, Base: base{"b"}, Pickup: place{Latitude: 1, Longitude: 2.5},
		Time: time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC), Size: "Small", Rush: true, Count: -3, Flags: 9,
		Stops: []place{{Latitude: 1}, {}}, Tags: map[string]string{"a": "b", "A": "c"},
		Raw: json.RawMessage(`{"any":["thing"]}`), Data: []byte("hi")}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(order{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeListsEveryFault(t *testing.T) {
	tests := []struct {
		name, body string
		want       []problem.Field
	}{
		{"unknown, deep and escaped", `{"Pickup":{"lat":1},"stops":[{},{"a/b~c":1}],"nope":null}`, []problem.Field{
			{Pointer: "/Pickup/lat", Detail: "is not a known field"},
			{Pointer: "/stops/1/a~1b~0c", Detail: "is not a known field"},
			{Pointer: "/nope", Detail: "is not a known field"}}},
		{"names are case-sensitive", `{"Rush":true,"pickup":{}}`, []problem.Field{
			{Pointer: "/Rush", Detail: "is not a known field"},
			{Pointer: "/pickup", Detail: "is not a known field"}}},
		{"hidden fields", `{"hidden":"x","Skipped":"x","-":"x"}`, []problem.Field{
			{Pointer: "/hidden", Detail: "is not a known field"},
			{Pointer: "/Skipped", Detail: "is not a known field"},
			{Pointer: "/-", Detail: "is not a known field"}}},
		{"twice", `{"rush":true,"rush":false}`, []problem.Field{{Pointer: "/rush", Detail: "is given twice"}}},
		{"twice in other words", `{"r\u0075sh":true,"rush":1,"tags":{"a":"1","\u0061":2}}`, []problem.Field{
			{Pointer: "/rush", Detail: "is given twice"},
			{Pointer: "/tags/a", Detail: "is given twice"}}},
		{"null", `{"rush":null,"Pickup":null,"time":null,"raw":null,"tags":null,"stops":[null]}`, []problem.Field{
			{Pointer: "/rush", Detail: "must not be null"},
			{Pointer: "/Pickup", Detail: "must not be null"},
			{Pointer: "/time", Detail: "must not be null"},
			{Pointer: "/stops/0", Detail: "must not be null"}}},
		{"types", `{"owner":1,"Pickup":[],"stops":{},"rush":"yes","count":1.5,"flags":-1,"tags":true,"data":[1]}`, []problem.Field{
			{Pointer: "/owner", Detail: "must be a string, not 1"},
			{Pointer: "/Pickup", Detail: "must be an object, not an array"},
			{Pointer: "/stops", Detail: "must be an array, not an object"},
			{Pointer: "/rush", Detail: "must be a boolean, not a string"},
			{Pointer: "/count", Detail: "must be a whole number of 8 bits, not 1.5"},
			{Pointer: "/flags", Detail: "must be a whole number from 0, of 16 bits, not -1"},
			{Pointer: "/tags", Detail: "must be an object, not a boolean"},
			{Pointer: "/data", Detail: "must be a string in base64, not an array"}}},
		{"ranges", `{"count":300,"Pickup":{"latitude":1e999}}`, []problem.Field{
			{Pointer: "/count", Detail: "must be a whole number of 8 bits, not 300"},
			{Pointer: "/Pickup/latitude", Detail: "must be a number, not 1e999"}}},
		{"own readers", `{"time":"tomorrow","size":"Huge"}`, []problem.Field{
			{Pointer: "/time", Detail: "must be a time as in RFC 3339, such as 2026-01-31T16:00:00Z"},
			{Pointer: "/size", Detail: "must be Small"}}},
		{"the whole", `[]`, []problem.Field{{Pointer: "", Detail: "must be an object, not an array"}}},
		{"nothing", `null`, []problem.Field{{Pointer: "", Detail: "must not be null"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := order{Count: 42, hidden: "h"}
			p := problem.Decode([]byte(test.body), &got)
			if p == nil {
				t.Fatal("accepted")
			}
			if p.Type != "invalid" || p.Status != http.StatusBadRequest {
				t.Errorf("got %v", p)
			}
			if diff := cmp.Diff(test.want, p.Errors); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Count != 42 {
				t.Error("the value was changed")
			}
		})
	}
}

func TestAnswerIsNotLargerThanTheBody(t *testing.T) {
	bodies := map[string]string{
		"many names":     "{" + strings.Repeat(`"":1,`, 5000) + `"":1}`,
		"many elements":  `{"stops":[` + strings.Repeat("1,", 5000) + "1]}",
		"a long name":    `{"` + strings.Repeat("<", 10_000) + `":1}`,
		"a name to cut":  `{"` + strings.Repeat("x", 99) + `ää":1}`,
		"a long map key": `{"tags":{"` + strings.Repeat("<", 10_000) + `":"a"},"nope":1}`,
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			p := problem.Decode([]byte(body), &order{})
			if p == nil {
				t.Fatal("accepted")
			}
			answer, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Errors) > 50 || len(answer) > 5000 || !utf8.Valid(answer) {
				t.Errorf("%d faults, %d bytes for %d", len(p.Errors), len(answer), len(body))
			}
		})
	}
}

func TestReadJSONRefusesCompression(t *testing.T) {
	for coding, want := range map[string]int{"gzip": 415, "br": 415, "identity": 0, "Identity": 0} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"owner":"o"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", coding)
		p := problem.ReadJSON(httptest.NewRecorder(), r, 64, &base{})
		if got := p; want == 0 && got != nil || want != 0 && (got == nil || got.Status != want) {
			t.Errorf("%s: %v, want %d", coding, got, want)
		}
	}
}

func TestReadJSONRefuses(t *testing.T) {
	const plain = "application/json"
	tests := []struct {
		name, media, body string
		status            int
		detail            string
	}{
		{"no content type", "", `{}`, 415, "application/json"},
		{"another content type", "text/plain", `{}`, 415, "application/json"},
		{"another charset", "application/json; charset=latin1", `{}`, 415, "UTF-8"},
		{"too large", plain, `{"owner":"` + strings.Repeat("x", 100) + `"}`, 413, "up to 64 bytes"},
		{"empty", plain, " \n", 400, "empty"},
		{"not UTF-8", plain, "{\"owner\":\"\xff\"}", 400, "not UTF-8"},
		{"syntax", plain, "{\"owner\":\n  nope}", 400, "line 2, column 4"},
		{"cut off", plain, `{"owner":"x`, 400, "line 1, column 12: the JSON value ends too early"},
		{"two values", plain, "{}\n {}", 400, "line 2, column 2: there is something behind"},
		{"rubbish behind", plain, "{}}", 400, "line 1, column 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.media)
			var into order
			p := problem.ReadJSON(httptest.NewRecorder(), r, 64, &into)
			if p == nil || p.Status != test.status || !strings.Contains(p.Detail, test.detail) {
				t.Errorf("got %v, want %d %s", p, test.status, test.detail)
			}
		})
	}
}

func TestReadJSONAccepts(t *testing.T) {
	for _, media := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"owner":"o"}`))
		r.Header.Set("Content-Type", media)
		var into base
		if p := problem.ReadJSON(httptest.NewRecorder(), r, 13, &into); p != nil || into.Owner != "o" {
			t.Errorf("%s: %v, %+v", media, p, into)
		}
	}
}

func TestReadJSONOfABrokenBody(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), brokenReader{}))
	r.Header.Set("Content-Type", "application/json")
	var into base
	if p := problem.ReadJSON(httptest.NewRecorder(), r, 64, &into); p == nil || p.Status != 400 {
		t.Errorf("got %v", p)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("reset") }

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"owner":"x"}`, `{"stops":[{"latitude":1}]}`, `null`, `[`, `{"a/b":1}`, `{"time":"x"}`, `{}{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, plain order
		p := problem.Decode(data, &got)
		if p == nil {
			if err := json.Unmarshal(data, &plain); err != nil {
				t.Fatalf("accepted %q, which encoding/json refuses: %v", data, err)
			}
			return
		}
		if p.Status != 400 || len(p.Errors) == 0 && p.Detail == "" {
			t.Fatalf("%q: a refusal without a reason: %+v", data, p)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatal(err)
		}
	})
}

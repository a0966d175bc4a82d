package sql

import (
	"strings"
	"sync"
	"testing"
)

// Ensure that what is decoded is encoded again byte for byte, numbers included.
func TestJSONRoundTrip(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1.0`, `1e3`, `1E-7`, `9007199254740993`, `18446744073709551615`,
		`0.1000000000000000055511151231257827`, `""`, `"a\"b"`, `"a\\b"`, `"ü€😀"`, `[]`, `{}`,
		`[1,[2,[3]],{"a":null}]`, `{"z":1,"a":{"b":[true,false]}}`, `"line\nbreak\u0001"`,
	} {
		if got := string(AppendJSON(nil, decode(t, text))); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           ``,
		"open object":     `{"a":1`,
		"open array":      `[1,`,
		"two values":      `1 2`,
		"trailing comma":  `[1,]`,
		"bare word":       `undefined`,
		"too deep":        strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		"number too big":  `1e999`,
		"number as a key": `{1:2}`,
		"single quotes":   `'a'`,
	} {
		if v, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: %q decoded to %s", name, text, AppendJSON(nil, v))
		}
	}
	deepest := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if _, err := Decode([]byte(deepest)); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
}

// Ensure that the last of equal names counts, in small and in large objects.
func TestDecodeDuplicateNames(t *testing.T) {
	for _, others := range []int{0, 40} {
		text := `{"a":1,` + strings.Repeat(`"x":0,`, 1)
		for i := range others {
			text += `"m` + strings.Repeat("m", i) + `":0,`
		}
		v := decode(t, text+`"a":2}`)
		if got := v.Member("a").Float(); got != 2 {
			t.Errorf("beside %d members: a = %v, want 2", others, got)
		}
		if want := others + 2; v.Len() != want {
			t.Errorf("beside %d members: %d members, want %d", others, v.Len(), want)
		}
	}
}

func TestWithMember(t *testing.T) {
	v := decode(t, `{"a":1,"b":2}`)
	for _, tc := range []struct {
		name  string
		value Value
		want  string
	}{
		{"a", NullValue(), `{"a":null,"b":2}`},
		{"c", StringValue("x"), `{"a":1,"b":2,"c":"x"}`},
		{"a", Value{}, `{"b":2}`},
		{"c", Value{}, `{"a":1,"b":2}`},
	} {
		if got := string(AppendJSON(nil, v.WithMember(tc.name, tc.value))); got != tc.want {
			t.Errorf("with %s: got %s, want %s", tc.name, got, tc.want)
		}
	}
	if got := string(AppendJSON(nil, v)); got != `{"a":1,"b":2}` {
		t.Errorf("the original changed to %s", got)
	}
}

func TestCanonical(t *testing.T) {
	a, b := decode(t, `{"b":1.0,"a":[1e1]}`), decode(t, `{"a":[10],"b":1}`)
	got, want := string(AppendJSON(nil, a.Canonical())), string(AppendJSON(nil, b.Canonical()))
	if got != want {
		t.Errorf("equal values have the canonical texts %s and %s", got, want)
	}
}

// Ensure that what is nested is the same whether or not it was looked into, and that
// what can't stand as it is written doesn't.
func TestNestedValues(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":[1,{"c":"x"}]},"d":[]}`:            ``,
		`{"a":{"b": 1}}`:                              `{"a":{"b":1}}`,
		`{"a":[1, 2],"b":[{"c":[3,4]}]}`:              `{"a":[1,2],"b":[{"c":[3,4]}]}`,
		`{"a":{"b":"\u00fc\/"}}`:                      `{"a":{"b":"ü/"}}`,
		`{"a":{"b":"\"x\\"},"c":["\\"]}`:              ``,
		`{"a":["\ud83d"]}`:                            "{\"a\":[\"\ufffd\"]}",
		"{\"a\":[\"\xff\"]}":                          "{\"a\":[\"\ufffd\"]}",
		`{"a":[true,false,null,-0,1.50,1e3,"e","]"]}`: ``,
		`{"a":[true,false,null,-0,1.50,"e","]}{["]}`:  ``,
	} {
		if want == "" {
			want = text
		}
		v := decode(t, text)
		if got := string(AppendJSON(nil, v)); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		var rebuild func(Value) Value
		rebuild = func(v Value) Value { // by looking at everything
			var fields []Field
			var elements []Value
			for name, member := range v.Members() {
				fields = append(fields, Field{name, rebuild(member)})
			}
			switch v.Kind() {
			case Object:
				return ObjectValue(fields...)
			case Array:
				for i := range v.Len() {
					elements = append(elements, rebuild(v.Index(i)))
				}
				return ArrayValue(elements...)
			}
			return v
		}
		if got := string(AppendJSON(nil, rebuild(v))); got != want {
			t.Errorf("%q looked into is %q, want %q", text, got, want)
		}
		if got := string(AppendJSON(nil, v)); got != want {
			t.Errorf("%q became %q once looked into", text, got)
		}
	}
	for _, nested := range []string{`1e999`, `-1E400`, strings.Repeat("9", 400), strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)} {
		if v, err := Decode([]byte(`{"a":[` + nested + `]}`)); err == nil {
			t.Errorf("%s decoded to %s", nested, AppendJSON(nil, v))
		}
	}
	v := decode(t, `{"a":{"b":1,"b":2}}`)
	if got := v.At("a", "b").Float(); got != 2 || v.Member("a").Len() != 1 {
		t.Errorf("of equal names the value is %v of %d", got, v.Member("a").Len())
	}
}

// Ensure that several goroutines may look into one value at once.
func TestNestedValuesTogether(t *testing.T) {
	v := decode(t, `{"a":{"b":[1,{"c":"x"}]}}`)
	var looking sync.WaitGroup
	for range 8 {
		looking.Go(func() {
			if got := v.At("a", "b").Index(1).Member("c").Text(); got != "x" {
				t.Errorf("%q", got)
			}
		})
	}
	looking.Wait()
}

// Ensure that any bytes are refused or become a value that is the same after
// another round.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.50,"x",{"b":null}],"a":true}`, `[`, `"\ud83d"`, "\"\xff\"", `-0e+7`, ` {} `} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode(AppendJSON(nil, v))
		if err != nil || !equal(v, again) {
			t.Fatalf("%q decodes to %s, and that to %s: %v", text, AppendJSON(nil, v), AppendJSON(nil, again), err)
		}
	})
}

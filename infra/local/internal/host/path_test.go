package host

import "testing"

func TestHostPath(t *testing.T) {
	for escaped, want := range map[string]string{
		"":                "",
		"/":               "/",
		"/a%2Fb":          "/a%2Fb",
		"/a%FF":           "/a%FF",
		"/a%2Bb":          "/a+b",
		"/%41%c3%bc":      "/A\u00fc",
		"/%E2%82":         "/%E2%82",
		"/a/../b":         "/b",
		"/a/%2e%2e/b/./c": "/b/c",
		"/../../a":        "/a",
		"/a/b/..":         "/a/",
		"/x//y":           "/x//y",
		"/...":            "/...",
	} {
		if got, ok := hostPath(escaped); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", escaped, got, ok, want)
		}
	}
	for _, refused := range []string{"/a%00", "/%00/.."} {
		if got, ok := hostPath(refused); ok {
			t.Errorf("%s is %q, want a refusal", refused, got)
		}
	}
}

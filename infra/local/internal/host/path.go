package host

import (
	"net/url"
	"path"
	"strings"
	"unicode/utf8"
)

// hostPath is what becomes of an escaped path on its way through Kestrel and
// YARP: a %2F, and what is no UTF-8, is not unescaped, so that its percent sign
// is escaped once more; everything else is unescaped and escaped again where it
// must be; dot segments are resolved before a route is looked for. It reports
// false for a path with %00, which is refused.
// (ASP.NET Core, UrlDecoder and PathNormalizer; run with 4.1037.)
func hostPath(escaped string) (text string, ok bool) {
	if !strings.Contains(escaped, "%") && !hasDots(escaped) {
		return escaped, true
	}
	var b strings.Builder
	for rest := escaped; rest != ""; {
		char, width := unescaped(rest)
		switch {
		case char == "\x00":
			return "", false
		case char == "" || char == "/":
			b.WriteString(rest[:width])
		default:
			b.WriteString(char)
		}
		rest = rest[width:]
	}
	text = b.String()
	if hasDots(text) {
		slash := strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.") || strings.HasSuffix(text, "/..")
		if text = path.Clean("/" + text); slash && text != "/" {
			text += "/"
		}
	}
	return text, true
}

// unescaped returns the character at the beginning of an escaped path, "" for a
// byte that stands for itself or that can't be unescaped, and how many bytes of
// the path it takes.
func unescaped(s string) (char string, width int) {
	if s[0] != '%' || len(s) < 3 {
		return "", 1
	}
	var raw []byte
	for width+3 <= len(s) && s[width] == '%' && len(raw) < utf8.UTFMax {
		b, err := url.PathUnescape(s[width : width+3])
		if err != nil {
			break
		}
		raw, width = append(raw, b...), width+3
		if utf8.Valid(raw) {
			return string(raw), width
		}
	}
	return "", 1
}

// hasDots reports whether a path has a dot segment.
func hasDots(text string) bool {
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

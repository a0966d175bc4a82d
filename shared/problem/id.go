package problem

import "strings"

// MaxID is the greatest length of an id.
const MaxID = 64

// IDRule says in words what ValidID allows.
const IDRule = "must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not just dots"

// ValidID reports whether id is 1 to 64 of the characters A-Z a-z 0-9 . _ -
// and more than dots: "." and ".." would mean something else in a path.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxID || strings.Trim(id, ".") == "" {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

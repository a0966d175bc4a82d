package workflow

import (
	"strings"
	"unicode/utf8"
)

// maxText bounds, in bytes, each text that is kept in a transaction's document. A
// service may say more, and it would be kept time and again: in the step, the
// history, the operations and the notices.
const maxText = 1000

// short cuts a text that is longer than maxText, and shows that it did. Signs
// that take many bytes in JSON become spaces.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, text)
	if len(text) <= maxText {
		return text
	}
	const more = "…"
	cut := maxText - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

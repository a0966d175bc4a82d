package bicep

type tokenKind int

const (
	endToken tokenKind = iota
	newlineToken
	nameToken
	numberToken
	stringToken      // '...' without a ${, or a multi-line string
	stringLeftToken  // '...${
	stringInnerToken // }...${
	stringRightToken // }...'
	operatorToken
)

type token struct {
	kind tokenKind
	text string // a name, a number, an operator, or a string's text with its escapes replaced
	at   Position
}

// String is the token as an error message shows it.
func (t token) String() string {
	switch t.kind {
	case endToken:
		return "the end of the file"
	case newlineToken:
		return "the end of the line"
	case stringToken, stringLeftToken, stringInnerToken, stringRightToken:
		return "a string"
	}
	return "'" + t.text + "'"
}

func (t token) is(operator string) bool { return t.kind == operatorToken && t.text == operator }

func (t token) isName(name string) bool { return t.kind == nameToken && t.text == name }

// operators are tried in this order: the longer first.
var operators = []string{
	"...", "=>", "==", "!=", "=~", "!~", "<=", ">=", "&&", "||", "??", ".?", "[?", "::",
	"{", "}", "[", "]", "(", ")", ",", ":", "=", ".", "+", "-", "*", "/", "%", "<", ">", "!", "?", "@", "|", "^",
}

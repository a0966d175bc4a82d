package bicep

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

var textFunctions = map[string]builtin{
	"toLower":    onText(1, 1, func(c *invocation) any { return strings.ToLower(c.text(0)) }),
	"toUpper":    onText(1, 1, func(c *invocation) any { return strings.ToUpper(c.text(0)) }),
	"trim":       onText(1, 1, func(c *invocation) any { return strings.TrimSpace(c.text(0)) }),
	"replace":    onText(3, 3, func(c *invocation) any { return strings.ReplaceAll(c.text(0), c.text(1), c.text(2)) }),
	"substring":  onText(2, 3, substring),
	"padLeft":    onText(2, 3, padLeft),
	"split":      onText(2, 2, split),
	"startsWith": {2, 2, func(c *invocation) any { return strings.HasPrefix(lower(c.text(0)), lower(c.text(1))) }},
	"endsWith":   {2, 2, func(c *invocation) any { return strings.HasSuffix(lower(c.text(0)), lower(c.text(1))) }},
	"format":     {1, -1, format},
	"string":     {1, 1, toText},
	"int":        {1, 1, toInt},
	"bool":       {1, 1, toBool},
	"json":       onText(1, 1, func(c *invocation) any { return parseJSON(c, c.text(0)) }),
	"base64": onText(1, 1, func(c *invocation) any {
		return base64.StdEncoding.EncodeToString([]byte(c.text(0)))
	}),
	"base64ToString": onText(1, 1, func(c *invocation) any {
		text, err := base64.StdEncoding.DecodeString(c.text(0))
		if err != nil {
			c.fail("%v", err)
		}
		return string(text)
	}),
	"uri": onText(2, 2, joinURI),
	"uriComponent": onText(1, 1, func(c *invocation) any {
		return strings.ReplaceAll(url.QueryEscape(c.text(0)), "+", "%20")
	}),
	"guid":         {1, -1, guid},
	"uniqueString": {1, -1, uniqueString},
}

func lower(s string) string { return strings.ToLower(s) }

func substring(c *invocation) any {
	s, from := c.text(0), int(c.number(1))
	length := len(s) - from
	if len(c.args) == 3 {
		length = int(c.number(2))
	}
	if from < 0 || length < 0 || from+length > len(s) {
		c.fail("%q has no %d characters from %d", s, length, from)
	}
	return s[from : from+length]
}

func padLeft(c *invocation) any {
	s, _ := textOf(c.at, c.args[0])
	fill := " "
	if len(c.args) == 3 {
		fill = c.text(2)
	}
	if n := int(c.number(1)) - len(s); n > 0 && n < 1000 {
		return strings.Repeat(fill, n) + s
	}
	return s
}

// split takes one delimiter, or an array of them.
func split(c *invocation) any {
	delimiters := []any{c.args[1]}
	if list, ok := c.args[1].([]any); ok {
		delimiters = list
	}
	parts := []string{c.text(0)}
	for _, d := range delimiters {
		delimiter, _ := textOf(c.at, d)
		var next []string
		for _, part := range parts {
			next = append(next, strings.Split(part, delimiter)...)
		}
		parts = next
	}
	return anys(parts)
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

var placeholder = regexp.MustCompile(`\{\{|\}\}|\{(\d+)\}|[{}]`)

// format puts arguments in for {0}, {1} and so on; formats such as {0:D3} are
// not known here.
func format(c *invocation) any {
	known := true
	out := placeholder.ReplaceAllStringFunc(c.text(0), func(m string) string {
		switch m {
		case "{{", "}}":
			return m[:1]
		case "{", "}":
			c.fail("%q has a brace that stands alone, or a format that is not known here", c.args[0])
		}
		n, err := strconv.Atoi(m[1 : len(m)-1])
		if err != nil || n+1 >= len(c.args) {
			c.fail("there is no argument %s", m)
		}
		text, ok := textOf(c.at, c.args[n+1])
		known = known && ok
		return text
	})
	if !known {
		return Symbol(out)
	}
	return out
}

// toText is a value's text; of an array or object its JSON.
func toText(c *invocation) any {
	switch v := c.args[0].(type) {
	case Symbol, string:
		return v
	case []any, map[string]any, nil:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(plainValue(c.at, v)); err != nil {
			c.fail("%v", err)
		}
		text := strings.TrimSuffix(out.String(), "\n")
		if hasSymbol(v) {
			return Symbol(text)
		}
		return text
	}
	text, _ := textOf(c.at, c.args[0])
	return text
}

// hasSymbol reports whether a symbol is in a value.
func hasSymbol(v any) bool {
	switch v := v.(type) {
	case Symbol:
		return true
	case []any:
		for _, item := range v {
			if hasSymbol(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasSymbol(item) {
				return true
			}
		}
	}
	return false
}

func toInt(c *invocation) any {
	switch v := c.args[0].(type) {
	case int64:
		return v
	case string:
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
	}
	c.fail("%v is no int", c.args[0])
	return nil
}

func toBool(c *invocation) any {
	switch v := c.args[0].(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case string:
		switch lower(v) {
		case "true", "1":
			return true
		case "false", "0":
			return false
		}
	}
	c.fail("%v is no bool", c.args[0])
	return nil
}

func parseJSON(c *invocation, text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		c.fail("%v", err)
	}
	return fromJSON(v)
}

// fromJSON makes int64 of whole numbers.
func fromJSON(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = fromJSON(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = fromJSON(v[key])
		}
	}
	return v
}

func joinURI(c *invocation) any {
	base, err := url.Parse(c.text(0))
	if err != nil {
		c.fail("%v", err)
	}
	ref, err := url.Parse(c.text(1))
	if err != nil {
		c.fail("%v", err)
	}
	return base.ResolveReference(ref).String()
}

// joined are the texts of all arguments, with dashes.
func (c *invocation) joined() string {
	texts := make([]string, len(c.args))
	for i, a := range c.args {
		texts[i], _ = textOf(c.at, a)
	}
	return strings.Join(texts, "-")
}

// guid is a UUID that follows from the arguments.
func guid(c *invocation) any {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.joined())).String()
}

// uniqueString is 13 letters and digits that follow from the arguments.
func uniqueString(c *invocation) any {
	sum := sha256.Sum256([]byte(c.joined()))
	return lower(base32.StdEncoding.EncodeToString(sum[:]))[:13]
}

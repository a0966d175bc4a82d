package bicep

import (
	"os"
	"strings"
)

// fileFunctions read files beside the Bicep file (Microsoft Learn, "File
// functions for Bicep").
var fileFunctions = map[string]builtin{
	"loadTextContent": {1, 2, func(c *invocation) any { return c.file() }},
	"loadJsonContent": {1, 1, func(c *invocation) any { return parseJSON(c, c.file()) }},
}

// file is the content of the file that the first argument names, which must be
// a constant.
func (c *invocation) file() string {
	if _, constant := c.exprs[0].(*literal); !constant {
		c.fail("the path must be a constant")
	}
	text, err := os.ReadFile(beside(c.env.frame.file.path, c.text(0)))
	if err != nil {
		c.fail("%v", err)
	}
	return strings.TrimPrefix(string(text), "\ufeff")
}

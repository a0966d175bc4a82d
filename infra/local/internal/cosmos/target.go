package cosmos

import (
	"fmt"
	"net/url"
	"strings"
)

// A target is what the path of a request names: a resource, or the feed of all
// resources of one type under an owner.
type target struct {
	pattern string   // the path with * for each id, such as dbs/*/colls
	ids     []string // what the stars stand for, unescaped
	kind    string   // the type of the resource or feed, such as colls
	link    string   // what signatures name: the resource or the feed's owner
}

// id is the i-th id of the path.
func (t target) id(i int) string { return t.ids[i] }

// escapedPath is the path of a URL. JavaScript's SDK leaves a question mark in
// the id of an item as it is; nothing here has a query.
func escapedPath(u *url.URL) string {
	path := u.EscapedPath()
	if (u.RawQuery != "" || u.ForceQuery) && strings.Contains(path, "/docs/") {
		path += "%3F" + u.RawQuery
	}
	return path
}

// parseTarget reads an escaped path. Ids are unescaped only after the path is
// split, so that they may have any character.
func parseTarget(escaped string) (target, error) {
	var t target
	trimmed := strings.Trim(escaped, "/")
	if trimmed == "" {
		return t, nil
	}
	segments := strings.Split(trimmed, "/")
	pattern := make([]string, len(segments))
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return t, fmt.Errorf("parse path segment %d: %w", i, err)
		}
		segments[i], pattern[i] = plain, plain
		if i%2 == 1 {
			pattern[i] = "*"
			t.ids = append(t.ids, plain)
		}
	}
	t.pattern = strings.Join(pattern, "/")
	last := len(segments) - 1
	if last%2 == 0 { // a feed: its link is the owner's
		t.kind, t.link = segments[last], strings.Join(segments[:last], "/")
	} else {
		t.kind, t.link = segments[last-1], strings.Join(segments, "/")
	}
	if t.pattern == "offers/*" { // addressed by resource id, signed in lower case
		t.link = strings.ToLower(segments[1])
	}
	return t, nil
}

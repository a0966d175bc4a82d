package config

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// loadHandler reads the customHandler section. A relative executable is looked
// for in workerDirectory or the script root; where it isn't there, its bare
// name stays and is looked up on PATH when the handler starts.
func loadHandler(root string, s *section, settings Settings) Handler {
	d := s.sub("description")
	h := Handler{
		InitializationTimeout: s.duration("initializationTimeout", 30*time.Second, time.Millisecond),
		Proxy:                 s.boolean("enableProxyingHttpRequest", false),
		Port:                  s.integer("port", 0, 0),
		Dir:                   inside(root, settings.expand(d.text("workingDirectory", ""))),
	}
	if s.boolean("enableForwardingHttpRequest", false) && !h.Proxy { // of the two, the host looks at proxying first
		s.addf("enableForwardingHttpRequest", "the older copying mode is not emulated; set enableProxyingHttpRequest as well")
	}
	if s.sub("http").has("routes") {
		s.addf("http.routes", "routes of customHandler are not emulated; give each function its own function.json")
	}
	path := settings.expand(d.text("defaultExecutablePath", ""))
	if path == "" {
		s.addf("description.defaultExecutablePath", "is required: the handler's file name, relative to host.json")
	}
	h.Path = path
	if !filepath.IsAbs(path) {
		full := filepath.Join(inside(root, d.text("workerDirectory", "")), path)
		if info, err := os.Stat(full); err == nil && !info.IsDir() {
			h.Path = full
		}
	}
	for _, list := range [][]string{d.list("arguments"), d.list("workerArguments")} {
		for _, arg := range list {
			// The host joins all arguments with blanks into one command line.
			h.Args = append(h.Args, strings.Fields(settings.expand(arg))...)
		}
	}
	d.has("useStdErrorStreamForErrorsOnly") // true, its default, is what custom handlers get
	return h
}

// inside makes a path absolute, relative ones from root.
func inside(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

package process

import (
	"bytes"
	"sync"
)

// maxLine bounds what is kept of a line without an end.
const maxLine = 64 << 10

const tailLines = 3

// lines is a writer that cuts a stream into lines. One goroutine writes;
// tail may be called once it has ended.
type lines struct {
	line   func(string, bool)
	stderr bool

	mu   sync.Mutex
	rest []byte
	last []string
}

func newLines(line func(string, bool), stderr bool) *lines {
	return &lines{line: line, stderr: stderr}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.rest = append(l.rest, p[:i]...)
		l.emit()
		p = p[i+1:]
	}
	l.rest = append(l.rest, p...)
	if len(l.rest) > maxLine {
		l.emit()
	}
	return n, nil
}

// flush gives the last line, which may lack its end.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.emit()
	}
}

func (l *lines) emit() {
	text := string(bytes.TrimSuffix(l.rest, []byte("\r")))
	l.rest = l.rest[:0]
	l.last = append(l.last, text)
	if len(l.last) > tailLines {
		l.last = l.last[1:]
	}
	l.line(text, l.stderr)
}

// tail gives the last lines, oldest first.
func (l *lines) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.last...)
}

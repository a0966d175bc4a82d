//go:build !unix

package stage_test

// withUmask runs do: there is no umask here.
func withUmask(_ int, do func()) { do() }

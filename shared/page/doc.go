// Package page is the operators' page: files that hold no data, and what their
// script must know before anyone has signed in. The data comes from Operations,
// which the script calls as any other client does, with a token or a key that it
// keeps in memory alone.
//
// The script is written by hand and has no build step. It puts every text on the
// page as text, and the content security policy takes away what could make
// markup or script of it (docs/adr/0035-page.md).
package page

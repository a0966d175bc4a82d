// Package drill makes troubles in a system that runs here, for operators to practise:
// what is wrong, how long it takes until the status names it, and until it no longer does
// after what mends it.
package drill

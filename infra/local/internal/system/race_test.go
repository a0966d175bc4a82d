//go:build race

package system_test

// atOnce is how many tests run side by side. With the race detector they don't
// wait, but calculate.
const atOnce = "2"

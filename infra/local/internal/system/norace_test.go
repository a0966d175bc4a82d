//go:build !race

package system_test

// atOnce is how many tests run side by side: they mostly wait.
const atOnce = "3"

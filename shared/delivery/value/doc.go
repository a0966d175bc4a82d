// Package value holds the values that a delivery request and the backends have
// in common: ids, locations, the kinds of packages and confirmations, and the
// list of what is wrong with a body. It is pure.
package value

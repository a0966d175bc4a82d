// Package value holds the values that a delivery request and the backends have
// in common: locations, and the kinds of packages and confirmations. It is pure.
package value

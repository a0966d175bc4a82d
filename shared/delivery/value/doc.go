// Package value holds the values that delivery requests and backends share:
// locations, and the kinds of packages and confirmations. It is pure.
package value

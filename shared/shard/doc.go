// Package shard says where transactions are (docs/adr/0031-shards.md). It is
// pure: standard library only, no I/O.
//
// Reading order: map.go (the shards, and where a new transaction goes), change.go
// (what operators do to the map), mint.go (the ids, which keep their shard), idkey.go.
package shard

// Package shard says where transactions are: the ids that carry their shard, and
// the keys that they are minted with. It is pure: standard library only, no I/O.
package shard

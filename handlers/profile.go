//go:build profile

package main

import "github.com/fabrikam/drone-delivery/infra/local/profile"

// The handler that bench -profile builds tells what it spends its time on. No other
// one has this.
func init() { profile.Obey("handler") }

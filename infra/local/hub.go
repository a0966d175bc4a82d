package main

import (
	"flag"
	"fmt"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// hubFlags say how the event hub is made.
type hubFlags struct{ partitions int }

func (f *hubFlags) define(flags *flag.FlagSet) {
	flags.IntVar(&f.partitions, "partitions", system.DefaultPartitions,
		fmt.Sprintf("partitions of the event hub, 1 to %d; a hub in the data folder keeps its number", system.MaxPartitions))
}

func (f *hubFlags) check(command string) error {
	if f.partitions < 1 || f.partitions > system.MaxPartitions {
		return &usageError{fmt.Sprintf("%s: -partitions %d: use 1 to %d", command, f.partitions, system.MaxPartitions)}
	}
	return nil
}

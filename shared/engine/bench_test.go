package engine_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// BenchmarkGoodRun runs one message of five steps that all go well, over a store,
// backends and a queue in memory.
func BenchmarkGoodRun(b *testing.B) {
	w := enginetest.New(b, fiveSteps(), 1, nil)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		id := strconv.Itoa(n)
		w.Post(workflow.OperationStart, id, "op-"+id, []byte(`{}`))
		w.Step()
	}
	if p := w.Store.Get(strconv.Itoa(n)); p == nil || p.State != workflow.Completed {
		b.Fatalf("the last ended as %+v", p)
	}
}

// BenchmarkDocument encodes and decodes the document of a transaction that has
// ended, as each save and each read do.
func BenchmarkDocument(b *testing.B) {
	w := enginetest.New(b, fiveSteps(), 1, nil)
	w.Post(workflow.OperationStart, "t", "op-1", []byte(`{}`))
	w.Step()
	stored := w.Store.Get("t")
	encoded, err := json.Marshal(stored)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(stored); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var p workflow.Progress
			if err := json.Unmarshal(encoded, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package sql

import (
	"encoding/json"
	"testing"
)

// BenchmarkDecode decodes a document of about 2 KiB, beside encoding/json into
// an untyped value.
//
//	go test -run '^$' -bench Decode ./infra/local/internal/cosmos/sql
func BenchmarkDecode(b *testing.B) {
	step := `{"name":"account","state":"Succeeded","effect":"yes","attempts":1,"startedAt":"2026-01-02T03:04:05.000Z","result":{"id":"owner-1","n":[1,2.5,-3e7],"text":"a \"quoted\" word"}}`
	text := []byte(`{"id":"t-1","saves":4,"steps":[` + step)
	for range 9 {
		text = append(append(text, ','), step...)
	}
	text = append(text, "]}"...)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := Decode(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var v any
			if err := json.Unmarshal(text, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package invariant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// largest is what Cosmos DB takes, in bytes.
const largest = 2 << 20

// Ensure the documents of every container have a bound that leaves them room.
func TestBounds(t *testing.T) {
	for _, name := range theSubject.Containers() {
		if most := theSubject.bound(name); most <= 0 || most > largest*3/4 {
			t.Errorf("documents of %s may have %d bytes", name, most)
		}
	}
	if most := theSubject.bound("another"); most != 0 {
		t.Errorf("documents of a container that nobody knows may have %d bytes", most)
	}
}

// Ensure a document may be as large as its bound, and no larger.
func TestSizes(t *testing.T) {
	for _, container := range theSubject.Containers() {
		most := theSubject.bound(container)
		for _, tt := range []struct{ bytes, broken int }{{1, 0}, {most, 0}, {most + 1, 1}, {largest, 1}} {
			f := judge(scene{Snapshot: Snapshot{Documents: []Document{{container, "d", tt.bytes}}}}, checkSizes)
			if len(f.Violations) != tt.broken || f.Checked != 1 {
				t.Errorf("%d bytes in %s: %+v", tt.bytes, container, f.Violations)
			}
		}
	}
}

// Ensure a package that a great many had is within its bound, which is not far
// above: with the longest ids, and as many transactions as fill its document.
func TestFullPackageIsWithinItsBound(t *testing.T) {
	var store recordtest.Memory[record.Record[parcel.Content]]
	service := parcel.New(record.Keeper[parcel.Content]{Store: &store, Now: time.Now})
	content := parcel.Content{OwnerID: strings.Repeat("o", 64), Size: "Medium", WeightKg: 1.0 / 3, Tag: strings.Repeat("<", 128)}
	for n := range record.MaxEntries {
		by := record.By{TransactionID: fmt.Sprintf("%064d", n), OperationID: strings.Repeat("p", 64), Revision: 100}
		if _, _, err := service.Put(t.Context(), "p", by, content); err != nil {
			t.Fatal(err)
		}
		if err := service.Delete(t.Context(), "p", by); err != nil {
			t.Fatal(err)
		}
	}
	s := scene{Packages: allOf(t, &store)}
	s.Documents = measured(delivery.PackagesContainer, s.Packages, idOf)
	f := judge(s, checkSizes)
	most := slices.MaxFunc(s.Documents, func(a, b Document) int { return a.Bytes - b.Bytes }).Bytes
	if len(f.Violations) > 0 || most < theSubject.bound(delivery.PackagesContainer)/2 {
		t.Errorf("the largest has %d bytes: %+v", most, f.Violations)
	}
}

package drone

import (
	"context"
	"time"
)

// Drone is one drone as it is stored: partition key Zone, id ID. Whoever holds
// it until BusyUntil is named by TransactionID; a drone whose BusyUntil is past
// is free, whatever TransactionID says.
type Drone struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// TransactionID is the transaction that holds, or last held, the drone.
	TransactionID string `json:"transactionId,omitempty"`
	// BusyUntil is when the drone is free again, in Unix milliseconds, so that
	// the query for the free ones compares numbers. 0 means free.
	BusyUntil int64 `json:"busyUntil"`
}

// Free reports whether nobody holds d at now.
func (d Drone) Free(now time.Time) bool { return d.BusyUntil <= now.UnixMilli() }

// Versioned is a drone and the ETag that it was read with.
type Versioned struct {
	Drone Drone
	ETag  string
}

// Store keeps the drones. Implementations are safe for concurrent use and give
// errors whose kind failure.KindOf tells; any error that is not named below is
// transient and leaves open whether a write took effect.
type Store interface {
	// Read returns a drone. NotFound if there is none.
	Read(ctx context.Context, zone, id string) (Versioned, error)
	// Create stores a new drone. Conflict if the id is taken in its zone.
	Create(ctx context.Context, d Drone) error
	// Replace stores d if the document's ETag is still etag. Conflict if it is
	// not, NotFound if the document is gone.
	Replace(ctx context.Context, d Drone, etag string) error
	// Free returns a page of the zone's drones whose BusyUntil is at or before
	// now's Unix milliseconds, in no order, and the continuation of the next
	// page ("" after the last). A page may be empty and still have a
	// continuation. All pages are asked for with the same now.
	Free(ctx context.Context, zone string, now time.Time, continuation string) (drones []Versioned, next string, err error)
	// Zone returns a page of all the zone's drones, in the same manner.
	Zone(ctx context.Context, zone, continuation string) (drones []Versioned, next string, err error)
}

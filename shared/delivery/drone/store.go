package drone

import "context"

// Drone is one drone as it is stored: partition key Zone, id ID.
type Drone struct {
	ID   string `json:"id"`
	Zone string `json:"zone"`
	// Holds are the times for which the drone is set aside, in the order of
	// From, maxHolds at most. Those of different transactions don't overlap; a
	// transaction has a second one while its flight is being changed. What is
	// over stays until the next write.
	Holds []Hold `json:"holds,omitempty"`
	// BusyUntil and Gap are made of Holds for the query for free drones, in Unix
	// milliseconds and milliseconds: the end of the last hold (0 if there is
	// none), and the longest free time before that, seen from the last write.
	BusyUntil int64 `json:"busyUntil"`
	Gap       int64 `json:"gap,omitempty"`
}

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
	// Free returns a page of the zone's drones that may be free for w, those for
	// which MayFit is true, in no order, and the continuation of the next page
	// ("" after the last). A page may be empty and still have a continuation.
	// All pages are asked for with the same w.
	Free(ctx context.Context, zone string, w Window, continuation string) (drones []Versioned, next string, err error)
	// Zone returns a page of all the zone's drones, in the same manner.
	Zone(ctx context.Context, zone, continuation string) (drones []Versioned, next string, err error)
}

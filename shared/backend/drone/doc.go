// Package drone is the backend that assigns drones to deliveries: one drone at
// most for a transaction, one transaction at most for a drone.
//
// An assignment (id: the TransactionID) and a drone are two documents, which no
// write changes together. So the assignment names its candidate first (the
// intent), then the drone is claimed under its ETag, then the assignment is
// confirmed. Whoever finds an intent goes on with it. One rule keeps this safe
// against runners that overtake each other:
//
//	A drone is claimed only with an ETag that was read before the intent
//	naming it was written.
//
// So a claim that is still on its way when another runner reads the drone and
// writes the assignment can only be one for the same drone, or one that fails.
// An undo writes its tombstone, then frees the drone; if the assignment was
// never confirmed it writes the drone also when it is not ours, so that a claim
// on its way finds another ETag.
//
// A drone is freed by time: it is busy until its arrival, and nobody needs to
// come back to it. The assignment stays as the record of the flight. Until the
// pickup a flight can be changed, and keeps its drone; afterwards it can't, so
// that no package gets a second one.
//
// Reading order: config.go, fleet.go (zones and drones), flight.go (distance and
// times), assign.go (the algorithm), claim.go (the drone's side of it), pick.go
// (which drone), change.go (a flight that stands), hints.go, service.go, http.go.
package drone

// Package drone is the backend that assigns drones to deliveries: one drone at
// most for a transaction, one transaction at a time for a drone.
//
// An assignment (id: the TransactionID) and a drone are two documents, which no
// write changes together. So the assignment names its candidate first (the
// intent), then the drone is claimed under its ETag, then the assignment is
// confirmed. A runner that finds an intent continues it. One rule keeps this
// safe against runners that overtake each other:
//
//	A drone is claimed only with an ETag that was read before the intent
//	naming it was written.
//
// So a claim that is still on its way when another runner reads the drone and
// writes the assignment can only be one for the same drone, or one that fails.
// The intent keeps that ETag. A runner that gives up a drone, for another drone
// or for an undo, first records this in the assignment (Left, or the
// tombstone). Then it frees the drone, or rewrites an unchanged drone that
// still has the intent's ETag, so that a claim on its way fails. It reads the
// drone before the assignment: a drone that the assignment names again stays as
// it is.
//
// A drone is held only for the window of a flight (Hold), so that a flight
// planned for another day leaves the drone free until then. Nobody has to clean
// up: the next write drops windows that are over. The assignment stays as the
// record of the flight. A change of the flight adds the new window, and drops
// the old one at confirmation; if the drone is not free then, another drone is
// taken.
//
// A flight can be changed or undone until the pickup, and not afterwards, so
// that no package gets a second drone: an undo frees the waiting package for a
// new transaction. The confirmed assignment, which alone has a flight, decides
// whether the pickup has happened, and the decision takes effect by a write
// under the ETag that was read. An undo that overtakes a PUT's intent or claim
// finds no flight, and its tombstone stops the confirmation. A refusal is noted
// in the assignment, which stops writes that were decided before the pickup and
// are still on their way.
//
// A first PUT reads nothing: it creates its intent with a drone of a page that was
// read before, and reads the assignment only if that is refused. The page may be out of
// date. Then the claim fails, as if another had been quicker a moment ago. An undo
// reads the drone anew: a claim that is on its way with an ETag of the page succeeds
// before that read, which finds the hold, or fails.
//
// Reading order: config.go, grid.go (zones and drones), flight.go (distance and
// times), hold.go (when a drone is free), assign.go (the algorithm), claim.go (the
// drone's side of it), pick.go (which drone), zone.go (what is remembered of it),
// fleet.go, change.go (a flight that stands), service.go, http.go.
package drone

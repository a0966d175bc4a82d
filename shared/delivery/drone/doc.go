// Package drone is the backend that assigns drones to deliveries: one drone at
// most for a transaction, one transaction at a time for a drone.
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
// The intent keeps that ETag. Whoever gives up a drone, for another one or for an
// undo, first writes that into the assignment (Left, or the tombstone), and then
// frees the drone, or writes it as it is if it still has the intent's ETag, so
// that a claim on its way fails. For that it reads the drone before the
// assignment: a drone that is named there again stays as it is.
//
// A drone is set aside for the window of a flight only (Hold), so that flights
// planned for another day leave it free until then, and nobody needs to come back
// to it: what is over is dropped with the next write. The assignment stays as the
// record of the flight. A change of the flight adds its window, and drops the old
// one when it is confirmed; if the drone is not free for it another one is taken.
//
// Until the pickup a flight can be changed, or undone. From
// the pickup on it can't, so that no package gets a second drone: for the
// package that waits for a new transaction is free once its drone is undone.
// Whether it is the pickup yet is judged on the confirmed assignment, the only
// thing that has a flight, and takes effect by a write under the ETag that was
// judged. An undo that overtakes a PUT's intent or claim finds no flight, and its
// tombstone stops the confirmation. A refusal is noted in the assignment, which
// stops what was judged before the pickup and is still on its way.
//
// Reading order: config.go, fleet.go (zones and drones), flight.go (distance and
// times), hold.go (when a drone is free), assign.go (the algorithm), claim.go (the
// drone's side of it), pick.go (which drone), change.go (a flight that stands),
// hints.go, service.go, http.go.
package drone

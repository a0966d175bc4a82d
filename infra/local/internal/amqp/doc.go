// Package amqp is an AMQP 1.0 server engine for emulators of Azure Service Bus
// and Event Hubs: Microsoft's SDKs and generic clients connect to it. Where
// clients differ, it sends what all of them can read (clients_test.go). It owns
// connections, sessions, links, flow control, SASL, $cbs and the pairing of
// $management requests with replies; a [Service] owns the entities behind the
// addresses.
//
// # Reading order
//
//   - service.go: the contract with the Service; conditions.go: error
//     conditions and their status codes; options.go; server.go
//   - typecodes.go, decode.go, fields.go, value.go, array.go and encode.go,
//     encode_value.go, encode_array.go: the type system (OASIS part 1)
//   - frame.go: frames; performative.go, perf_*.go, delivery_state.go: what is
//     in them (parts 2, 3 and 5)
//   - conn.go, handshake.go, conn_read.go, conn_write.go: a connection;
//     faults.go: how it breaks on purpose
//   - session.go, session_flow.go, session_settle.go: a session
//   - link.go, link_attach.go: a link; link_receiving.go: its half when the peer
//     sends; link_sending.go, link_transmit.go: when the peer receives
//   - rpc.go, rpc_message.go, rpc_reply.go, rpc_nodes.go: $cbs and $management,
//     which are a Sink and a Source like any other
//
// # Goroutines and locks
//
// A connection has a goroutine that reads and one that writes, and one for each
// request to $management. [Server.Close] waits for all of them. Frames of a
// peer take effect in their order: the reader asks the Service for the link of
// an attach, and puts a token, before it reads on.
//
// One mutex per connection guards its sessions and links. It is not held during
// calls to the network or the Service: news for the Service is queued as an
// event of its link, and the events of one link are delivered one after the
// other. Output is encoded when the writer is free, so that frames that come up
// during a write share the next one. Lock order: locks of the Service, then
// replySource.mu, then conn.mu. Server.mu is never held with another.
//
// A peer that does not read holds up only itself: deliveries wait in their
// link's queue, bounded by credit and by Options.LinkBuffer; the server stops
// reading the peer, which bounds answers; and Options.WriteTimeout ends the
// connection.
//
// # Faults
//
// With Options.Faults the Server does what networks do: connections fail,
// break, and are slow. Nobody tells the peer. The SDKs for Go take every fault
// for a lost connection, open a new one with new links, and repeat the
// operation after their delay. Settlements differ: azservicebus 1.11 keeps
// using the connection of the message, after 4, 12 and 28 s whatever the
// options of its client say, and then fails, so callers do well to give up with
// the lock. Instead of answering, a Service can cut a connection or detach a
// link, with ErrCut and DetachError.
//
// # Not emulated
//
// TLS and WebSockets: a net.Listener may do them. SASL EXTERNAL. Transactions
// (part 4): a coordinator is refused with amqp:not-implemented. Dynamic nodes:
// refused likewise. Resumption of links and their unsettled state: a detach
// ends the link, closed or not, and later dispositions of its deliveries are
// ignored. Sessions, links and connections that the server starts. The delivery
// state "received", rcv-settle-mode per transfer and default-outcome: a
// delivery settled without an outcome counts as released. The ten minutes after
// which Azure detaches idle links.
package amqp

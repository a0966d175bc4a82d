package amqp

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Options configure a Server. The zero value of each field means its default.
type Options struct {
	// Logger gets connections that start, end and break rules at level Debug.
	// Default: none.
	Logger *slog.Logger
	// ContainerID names the Server in its open. Default: "amqp-server".
	ContainerID string
	// IdleTimeout is the idle-time-out that the Server announces; a peer that
	// sends nothing for twice as long is dropped (OASIS part 2, section 2.4.5).
	// Default: one minute. At least one millisecond.
	IdleTimeout time.Duration
	// HandshakeTimeout bounds the time from accept to the peer's open.
	// Default: 10 s.
	HandshakeTimeout time.Duration
	// WriteTimeout drops a peer that takes nothing from one write (up to about
	// 128 KiB) for so long. Default: one minute.
	WriteTimeout time.Duration
	// CloseTimeout is how long a closed connection waits for the peer's close.
	// Default: 1 s.
	CloseTimeout time.Duration
	// MaxFrameSize is the largest frame in bytes that the Server takes and the
	// largest that it sends, at least 512. Default: 65536, as Service Bus.
	MaxFrameSize uint32
	// ChannelMax is the highest channel number, so that a connection has at
	// most ChannelMax+1 sessions. Default: 4999, as Service Bus.
	ChannelMax uint16
	// HandleMax is the highest link handle in a session. Default: 4999.
	HandleMax uint32
	// SessionWindow is how many transfer frames a session takes before the
	// peer has to wait for a flow. Default: 1024.
	SessionWindow uint32
	// LinkCredit is the credit of a Sink whose LinkOptions name none.
	// Default: 1000.
	LinkCredit uint32
	// MaxBuffered bounds in bytes what a connection holds of messages that it
	// received: past half of it session windows are not replenished, at all of
	// it the connection is not read until Sinks finish. Unfinished multi-frame
	// messages beyond it end the connection. Default: 64 MiB.
	MaxBuffered int64
	// LinkBuffer bounds in bytes what one link queues to be sent before Send
	// says no; one message passes whatever its size. Default: 4 MiB.
	LinkBuffer int64
	// HTTP answers peers that send a GET of HTTP/1.1 instead of a protocol header,
	// one to a connection: both interfaces of a namespace are at one address.
	// Default: they are refused as any other that doesn't speak AMQP.
	HTTP http.Handler
	// Faults break connections on purpose; see faults.go. Default: none.
	Faults *fault.Injector
}

// withDefaults returns o with every zero field set.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.ContainerID = cmp.Or(o.ContainerID, "amqp-server")
	o.IdleTimeout = max(cmp.Or(o.IdleTimeout, time.Minute), time.Millisecond)
	o.HandshakeTimeout = cmp.Or(o.HandshakeTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, time.Minute)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, time.Second)
	o.MaxFrameSize = max(cmp.Or(o.MaxFrameSize, 65536), minMaxFrameSize)
	o.ChannelMax = cmp.Or(o.ChannelMax, 4999)
	o.HandleMax = cmp.Or(o.HandleMax, 4999)
	o.SessionWindow = max(cmp.Or(o.SessionWindow, 1024), 2)
	o.LinkCredit = cmp.Or(o.LinkCredit, 1000)
	o.MaxBuffered = max(cmp.Or(o.MaxBuffered, 64<<20), 2)
	o.LinkBuffer = cmp.Or(o.LinkBuffer, 4<<20)
	return o
}

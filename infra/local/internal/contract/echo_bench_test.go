package contract

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// counted is a listener that counts what goes over its connections.
type counted struct {
	net.Listener
	in, out atomic.Int64
}

func listenCounted(b *testing.B) *counted {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return &counted{Listener: l}
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, c}, nil
}

type countedConn struct {
	net.Conn
	all *counted
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.all.in.Add(int64(n))
	return n, err
}

func (c countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.all.out.Add(int64(n))
	return n, err
}

// besideEcho measures what each client does b.N times together, as each does, and
// then how long a loopback takes for the same bytes: the same clients send as much
// as was sent for each, and wait for as much as was answered. It reports how fast
// the first was beside the second.
func besideEcho(b *testing.B, over *counted, measured func()) {
	b.Helper()
	in, out := over.in.Load(), over.out.Load()
	b.ReportAllocs()
	b.ResetTimer()
	measured()
	b.StopTimer()
	took := b.Elapsed()
	sent, answered := int(over.in.Load()-in)/b.N, int(over.out.Load()-out)/b.N
	echo := echoed(b, max(1, sent), max(1, answered))
	b.ReportMetric(float64(sent), "B-sent/op")
	b.ReportMetric(float64(answered), "B-answered/op")
	b.ReportMetric(100*echo.Seconds()/took.Seconds(), "%-of-echo")
}

// echoed has clients send so many bytes b.N times together, each time waiting for
// so many to come back.
func echoed(b *testing.B, sent, answered int) time.Duration {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				request, answer := make([]byte, sent), make([]byte, answered)
				for {
					if _, err := io.ReadFull(conn, request); err != nil {
						return
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	conns := make(chan net.Conn, benchmarkClients)
	for range benchmarkClients {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		conns <- conn
	}
	begun := time.Now()
	each(b, b.N, func() error {
		conn := <-conns
		defer func() { conns <- conn }()
		_, err := conn.Write(make([]byte, sent))
		_, err2 := io.ReadFull(conn, make([]byte, answered))
		return errors.Join(err, err2)
	})
	return time.Since(begun)
}

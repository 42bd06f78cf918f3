package httptool

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// NewTransport is the transport for effects and look-ups: no connection is ever used twice, no proxy from the
// environment, HTTP/1.1 only. Wrap it to watch or to simulate. Over any other transport nobody sees the first byte, so that
// every error of it is unknown.
func NewTransport() http.RoundTripper {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: -1}
	return &http.Transport{
		DisableKeepAlives:  true,
		DisableCompression: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			watched(ctx)
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return guard(ctx, c), nil
		},
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			watched(ctx)
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			host, _, _ := net.SplitHostPort(addr)
			secure := tls.Client(c, &tls.Config{ServerName: host, NextProtos: []string{"http/1.1"}})
			if err := secure.HandshakeContext(ctx); err != nil {
				c.Close()
				return nil, err
			}
			return guard(ctx, secure), nil
		},
	}
}

type gateKey struct{}

// gate watches the first byte of one request: it asks before it and knows whether it left.
type gate struct {
	before  func() error
	watched atomic.Bool // the connection is ours, so that an unsent first byte proves something
	sent    atomic.Bool
	held    atomic.Bool // before said no
}

var errHeld = errors.New("not sent: the attempt may no longer send")

// watched says that this request goes over a connection of ours, if over any.
func watched(ctx context.Context) {
	if g, ok := ctx.Value(gateKey{}).(*gate); ok {
		g.watched.Store(true)
	}
}

func guard(ctx context.Context, c net.Conn) net.Conn {
	if g, ok := ctx.Value(gateKey{}).(*gate); ok {
		return &gatedConn{Conn: c, gate: g}
	}
	return c
}

// Exchange carries one request without a connection, for a simulation. It calls first right before the first byte would leave; when
// that fails, it sends nothing and returns that error.
type Exchange func(req *http.Request, first func() error) (*http.Response, error)

// RoundTrip implements http.RoundTripper. As on a connection of ours, an error before the first byte proves that nothing left.
func (x Exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	g, ok := req.Context().Value(gateKey{}).(*gate)
	if !ok {
		return x(req, func() error { return nil })
	}
	g.watched.Store(true)
	return x(req, g.first)
}

// first asks the gate before the first byte.
func (g *gate) first() error {
	if g.sent.Load() {
		return nil
	}
	if err := g.before(); err != nil {
		g.held.Store(true)
		return errHeld
	}
	g.sent.Store(true)
	return nil
}

// gatedConn is a connection that asks the gate before its first byte. TLS handshakes happen below it.
type gatedConn struct {
	net.Conn
	gate *gate
}

func (c *gatedConn) Write(b []byte) (int, error) {
	if err := c.gate.first(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// noRedirects is a client that hands a redirect back as the answer it is.
func noRedirects(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

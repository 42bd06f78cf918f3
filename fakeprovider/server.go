package fakeprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the provider's choices; the zero value is a sound provider on a free port with a ledger in memory.
type Options struct {
	Addr        string        // "" is 127.0.0.1:0; an address that is not loopback is an error
	Dir         string        // the ledger's folder; "" keeps it in memory
	Key         string        // honoured (default) | ignored: stored and searchable, but a repeat executes | none: not read at all
	ForgetAfter time.Duration // how long an honoured key is remembered; 0 is for ever
	SearchLag   time.Duration // so long a new object is invisible to searches; a get by id sees it at once
	SearchPage  int           // objects on a page of a search, 50 by default
	Dialect     string        // "" or plain
	Clock       Clock         // nil is RealClock()
	Script      *Script       // nil: no model
}

// Server is a Core behind HTTP on a loopback address.
type Server struct {
	core  *Core
	clock Clock
	http  *http.Server
	addr  string
	url   string

	ctx  context.Context // ends when the server is closed; every request's context comes from it
	end  context.CancelFunc
	work sync.WaitGroup // handlers and open connections
	// accepting is apart, because connections must not be closed before the last one has been accepted.
	accepting sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	reserved func()       // lets the port go that is kept meanwhile; nil: it is not
	closed   bool
	trouble  error // listening again has failed
	holds    map[int]Held
	holdNo   int
}

// Start opens the ledger and listens. Its errors are about the address, the options or the ledger.
func Start(o Options) (*Server, error) {
	addr, err := loopbackAddr(o.Addr)
	if err != nil {
		return nil, err
	}
	core, err := NewCore(o)
	if err != nil {
		return nil, fmt.Errorf("start provider: %w", err)
	}
	s := &Server{core: core, clock: o.Clock, holds: map[int]Held{}}
	if s.clock == nil {
		s.clock = RealClock()
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnContext:       countRequests,
		ConnState:         s.connState,
		ErrorLog:          log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute,
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		s.end()
		return nil, fmt.Errorf("start provider: %w", err)
	}
	s.addr = listener.Addr().String()
	s.url = "http://" + s.addr
	s.accept(listener)
	return s, nil
}

// loopbackAddr refuses every host that other machines could reach. "localhost" is taken as 127.0.0.1 without asking a resolver.
func loopbackAddr(addr string) (string, error) {
	if addr == "" {
		return "127.0.0.1:0", nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("address %q: %w", addr, err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if !isLoopback(host) {
		return "", fmt.Errorf("address %q: the fake provider listens on loopback only", addr)
	}
	return net.JoinHostPort(host, port), nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// accept serves a listener until it is closed. The caller holds mu, or nobody else knows the server yet.
func (s *Server) accept(l net.Listener) {
	s.listener = l
	s.accepting.Go(func() {
		s.http.Serve(l) // ends with the listener; there is nothing to report then
	})
}

// connState keeps Close waiting for every connection's goroutine.
func (s *Server) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.work.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.work.Done()
	}
}

type countKey struct{}

// countRequests gives every connection a counter, to tell a warm connection from a fresh one.
func countRequests(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, countKey{}, new(atomic.Int64))
}

// URL is the provider's address; the model's base URL is URL()+"/v1". It stays the same over refuse and clear.
func (s *Server) URL() string { return s.url }

// Core is the state machine behind this server.
func (s *Server) Core() *Core { return s.core }

// SetScript gives the model another script.
func (s *Server) SetScript(script *Script) { s.core.SetScript(script) }

// Unstruck lists the armed faults that never struck.
func (s *Server) Unstruck() []Fault { return s.core.Unstruck() }

// Arm adds faults; all of them or, if one is wrong, none. With refuse among them the listener is closed on return and idle connections
// with it; requests that are being answered go on.
func (s *Server) Arm(faults ...Fault) error {
	if err := s.core.Arm(faults...); err != nil {
		return err
	}
	if !s.core.refusing(false) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.refusing(true)
	s.stopListening()
	return nil
}

func (s *Server) stopListening() {
	if s.listener == nil {
		return
	}
	s.listener.Close()
	s.listener, s.reserved = nil, reserve(s.addr)
	s.http.SetKeepAlivesEnabled(false)
}

func (s *Server) letGo() {
	if s.reserved != nil {
		s.reserved()
		s.reserved = nil
	}
}

// ClearFaults disarms all faults. After refuse it listens again on the same port; should somebody have taken the port meanwhile, Close
// reports it.
func (s *Server) ClearFaults() {
	s.core.ClearFaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil || s.closed {
		return
	}
	s.http.SetKeepAlivesEnabled(true)
	listener, err := net.Listen("tcp", s.addr)
	s.letGo()
	if err != nil {
		s.trouble = fmt.Errorf("listen again: %w", err)
		return
	}
	s.trouble = nil
	s.accept(listener)
}

// Close ends everything: the listener, all connections and the requests that are held. No goroutine is left when it returns.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	trouble := s.trouble
	s.letGo()
	if s.listener != nil {
		s.listener.Close()
		s.listener = nil
	}
	s.mu.Unlock()
	s.end()
	s.accepting.Wait()
	err := s.http.Close()
	s.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		err = nil // the listener was closed first
	}
	return errors.Join(trouble, err)
}

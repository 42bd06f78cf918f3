package fakeprovider

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// requestLimit is the largest body that is read.
const requestLimit = 8 << 20

// serve is the way of one request: only loopback hosts, the control pages, then the core.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.work.Add(1) // a hijacked connection is not counted any more, its handler is
	defer s.work.Done()
	warm := r.Context().Value(countKey{}).(*atomic.Int64).Add(1) > 1
	if !isLoopback(hostOf(r.Host)) {
		// A page in a browser could otherwise reach us under a name of its own that it lets point here.
		s.write(w, r, errorAnswer(http.StatusForbidden, "forbidden", "host "+strings.ToValidUTF8(r.Host, "?")+" is not loopback"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestLimit))
	if err != nil {
		// The request never arrived as a whole: no provider could have executed it, so it is not counted.
		s.write(w, r, errorAnswer(http.StatusBadRequest, "malformed", "the body could not be read: "+err.Error()))
		return
	}
	if path := strings.TrimPrefix(r.URL.Path, "/_control/"); path != r.URL.Path {
		s.write(w, r, s.control(path, r.Method, body))
		return
	}
	request := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header, Body: body, Conn: r.RemoteAddr, Warm: warm}
	s.deliver(w, r, request, s.core.Handle(s.clock.Now(), request))
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// deliver does to the connection what the answer says.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, request Request, a Answer) {
	if !a.Until.IsZero() && s.hold(r, a.Until) != nil {
		panic(http.ErrAbortHandler)
	}
	if a.Resume {
		a = s.core.Resume(s.clock.Now(), request)
	}
	switch a.Fate {
	case Hold:
		s.hold(r, time.Time{})
		panic(http.ErrAbortHandler) // closes the connection without a word
	case Reset, Refuse:
		reset(w)
		return
	}
	s.write(w, r, a)
	if a.Fate == Cut {
		panic(http.ErrAbortHandler)
	}
}

// reset ends the connection with RST: with a linger time of zero the kernel does not say goodbye.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the connection has gone already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, a Answer) {
	for name, values := range a.Header {
		w.Header()[name] = slices.Clone(values)
	}
	w.Header().Set("Date", s.clock.Now().UTC().Format(http.TimeFormat))
	if len(a.Pieces) == 1 && a.Size == 0 && a.Fate == Deliver {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Pieces[0])))
	}
	w.WriteHeader(a.Status)
	if a.Size > 0 {
		io.Copy(w, a.Content()) // a client that stops reading is no trouble of ours
		return
	}
	flusher := http.NewResponseController(w)
	for i, piece := range a.Pieces {
		if i > 0 && a.Every > 0 && s.hold(r, s.clock.Now().Add(a.Every)) != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := w.Write(piece); err != nil {
			panic(http.ErrAbortHandler)
		}
		flusher.Flush()
	}
}

// Held is a request that the provider keeps waiting.
type Held struct {
	Conn   string    `json:"conn"`
	Since  time.Time `json:"since"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
}

// hold keeps the request, visibly in Held, until the time has come or the client or the server has gone.
func (s *Server) hold(r *http.Request, until time.Time) error {
	s.mu.Lock()
	s.holdNo++
	no := s.holdNo
	s.holds[no] = Held{r.RemoteAddr, s.clock.Now(), r.Method, r.URL.RequestURI()}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.holds, no)
		s.mu.Unlock()
	}()
	return s.clock.Hold(r.Context(), r.RemoteAddr, until)
}

// Held lists the requests that are being held, in the order in which they began to wait.
func (s *Server) Held() []Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	order := make([]int, 0, len(s.holds))
	for no := range s.holds {
		order = append(order, no)
	}
	slices.Sort(order)
	list := make([]Held, 0, len(order))
	for _, no := range order {
		list = append(list, s.holds[no])
	}
	return list
}

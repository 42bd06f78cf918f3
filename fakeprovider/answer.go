package fakeprovider

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Request is what the core needs to know of an HTTP request.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header // Idempotency-Key is the only one read
	Body   []byte
	Conn   string // the client's address, for the list of requests
	Warm   bool   // the connection has served a request before
}

// Fate is what becomes of the connection.
type Fate int

const (
	Deliver Fate = iota // the answer is sent
	Hold                // nothing is sent until the client leaves
	Reset               // the connection is reset, nothing is sent
	Cut                 // Pieces are sent, then the connection ends before the length that Header states
	Refuse              // there is no listener: the connection is refused, the request was not received
)

func (f Fate) String() string {
	return [...]string{"deliver", "hold", "reset", "cut", "refuse"}[f]
}

// Answer is what the provider does with a request. A shell first waits for Until if that is set; then, if Resume is set, it asks
// Core.Resume for the real answer; then it does what Fate says.
type Answer struct {
	Fate   Fate
	Status int
	Header http.Header
	Pieces [][]byte      // the body; each piece is flushed by itself
	Every  time.Duration // pause before each piece but the first
	Size   int64         // if larger than the body: the JSON object is padded to so many bytes while it is sent
	Until  time.Time
	Resume bool
}

// Body is the body without padding.
func (a Answer) Body() []byte { return bytes.Join(a.Pieces, nil) }

// Content reads the whole body, padding included.
func (a Answer) Content() io.Reader {
	body := a.Body()
	head, tail := []byte(`,"padding":"`), []byte(`"}`)
	room := a.Size - int64(len(body)-1+len(head)+len(tail))
	if room <= 0 || !bytes.HasSuffix(body, []byte("}")) {
		return bytes.NewReader(body)
	}
	return io.MultiReader(bytes.NewReader(body[:len(body)-1]), bytes.NewReader(head), io.LimitReader(paddingReader{}, room), bytes.NewReader(tail))
}

// paddingReader is endless, so that an oversize answer needs no memory.
type paddingReader struct{}

func (paddingReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func typed(status int, contentType string, body []byte) Answer {
	return Answer{Status: status, Header: http.Header{"Content-Type": {contentType}}, Pieces: [][]byte{body}}
}

const jsonType = "application/json"

func jsonAnswer(status int, body []byte) Answer { return typed(status, jsonType, body) }

type errorBody struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func errorAnswer(status int, code, message string) Answer {
	var b errorBody
	b.Error.Code, b.Error.Message = code, message
	return jsonAnswer(status, encode(b))
}

// page is what a proxy or a maintenance host in front of the provider shows.
func page(status int) Answer {
	text := "<!DOCTYPE html>\n<html><head><title>" + http.StatusText(status) + "</title></head><body><h1>" + http.StatusText(status) + "</h1></body></html>\n"
	return typed(status, "text/html; charset=utf-8", []byte(text))
}

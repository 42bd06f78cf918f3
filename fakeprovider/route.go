package fakeprovider

import (
	"net/http"
	"slices"
	"strings"
)

const (
	modelKind    = "model"
	actionChat   = "chat"
	actionModels = "models"
)

// route says what a request asks for. An empty action is a path or a method that does not exist; status says which.
type route struct {
	kind, action string
	id           string // of a get
	cancels      bool   // the look is for cancellations
	status       int
}

func (r route) write() bool { return r.action == actionCreate || r.action == actionCancel }
func (r route) look() bool  { return r.action == actionGet || r.action == actionSearch }
func (r route) on() string  { return r.kind + "." + r.action }

// routeOf reads method and path of the plain dialect:
//
//	POST /KIND                     create      GET /KIND                      search
//	POST /payments/cancel          cancel      GET /KIND/{id}                 get
//	POST /v1/chat/completions      the model   GET /payments/cancellations    search for cancellations, /{id} to get one
//	GET  /v1/models
func routeOf(method, path string) route {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == "v1" {
		return modelRoute(method, path)
	}
	if !slices.Contains(kinds, parts[0]) {
		return route{status: http.StatusNotFound}
	}
	r := route{kind: parts[0], status: http.StatusMethodNotAllowed}
	rest := parts[1:]
	payments := r.kind == "payments"
	switch {
	case payments && len(rest) == 1 && rest[0] == "cancel":
		if method == http.MethodPost {
			r.action = actionCancel
		}
		return r
	case payments && len(rest) > 0 && rest[0] == "cancellations":
		r.cancels, rest = true, rest[1:]
	case len(rest) == 0 && method == http.MethodPost:
		r.action = actionCreate
		return r
	}
	return r.lookRoute(method, rest)
}

func (r route) lookRoute(method string, rest []string) route {
	switch {
	case len(rest) > 1 || len(rest) == 1 && rest[0] == "":
		r.status = http.StatusNotFound
	case method != http.MethodGet:
	case len(rest) == 0:
		r.action = actionSearch
	default:
		r.action, r.id = actionGet, rest[0]
	}
	return r
}

func modelRoute(method, path string) route {
	r := route{kind: modelKind, status: http.StatusMethodNotAllowed}
	switch {
	case path == "/v1/chat/completions" && method == http.MethodPost:
		r.action = actionChat
	case path == "/v1/models" && method == http.MethodGet:
		r.action = actionModels
	case path != "/v1/chat/completions" && path != "/v1/models":
		r.status = http.StatusNotFound
	}
	return r
}

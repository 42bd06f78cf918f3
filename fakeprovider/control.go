package fakeprovider

import (
	"net/http"
	"strings"
	"time"
)

// control answers below /_control/. These requests are the observer's: they are neither counted nor struck by faults.
func (s *Server) control(path, method string, body []byte) Answer {
	switch {
	case path == "faults":
		return s.controlFaults(method, body)
	case path != "requests" && path != "effects" && path != "held":
		return errorAnswer(http.StatusNotFound, "not_found", "known are /_control/requests, /_control/effects, /_control/held and /_control/faults")
	case method != http.MethodGet:
		return errorAnswer(http.StatusMethodNotAllowed, "method_not_allowed", method+" is not possible here")
	case path == "requests":
		return jsonAnswer(http.StatusOK, encode(s.core.Requests()))
	case path == "held":
		return jsonAnswer(http.StatusOK, encode(map[string][]Held{"held": s.Held()}))
	}
	return s.core.effectsPage(s.clock.Now())
}

// EffectsPage is the JSON of /_control/effects. ByKind counts creations under the kind alone, others as KIND.ACTION; every kind is
// there, also with no effect.
type EffectsPage struct {
	Total   int            `json:"total"`
	ByKind  map[string]int `json:"by_kind"`
	Effects []Effect       `json:"effects"`
}

// CountByKind is the ByKind of EffectsPage.
func CountByKind(effects []Effect) map[string]int {
	count := map[string]int{}
	for on := range operations {
		count[kindName(on)] = 0
	}
	for _, e := range effects {
		count[kindName(e.Kind+"."+e.Action)]++
	}
	return count
}

func kindName(on string) string {
	if kind, isCreate := strings.CutSuffix(on, "."+actionCreate); isCreate {
		return kind
	}
	return on
}

func (c *Core) effectsPage(now time.Time) Answer {
	effects, err := c.Effects(now)
	if err != nil {
		return broken(err)
	}
	return jsonAnswer(http.StatusOK, encode(EffectsPage{len(effects), CountByKind(effects), effects}))
}

// FaultsPage is the JSON of GET /_control/faults.
type FaultsPage struct {
	Faults   []Fault `json:"faults"`
	Unstruck []Fault `json:"unstruck"`
}

func (s *Server) controlFaults(method string, body []byte) Answer {
	switch method {
	case http.MethodGet:
		return jsonAnswer(http.StatusOK, encode(FaultsPage{s.core.Armed(), s.core.Unstruck()}))
	case http.MethodPost:
		faults, err := ParseFaults(body)
		if err == nil {
			err = s.Arm(faults...)
		}
		if err != nil {
			return errorAnswer(http.StatusBadRequest, "malformed", err.Error())
		}
		return jsonAnswer(http.StatusOK, encode(map[string]int{"armed": len(faults)}))
	case http.MethodDelete:
		cleared := len(s.core.Armed())
		s.ClearFaults()
		return jsonAnswer(http.StatusOK, encode(map[string]int{"cleared": cleared}))
	}
	return errorAnswer(http.StatusMethodNotAllowed, "method_not_allowed", method+" is not possible here")
}

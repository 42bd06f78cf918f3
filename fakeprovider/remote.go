package fakeprovider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Remote observes and arms a fake provider in another process, by its controls. What was there when it was dialled does not count.
type Remote struct {
	url     string
	client  *http.Client
	before  Requests
	effects map[string]bool // ids that were there before
}

// Dial looks at the provider at a base URL, such as http://127.0.0.1:18080. Error: nobody answers there as a fake provider does.
func Dial(url string) (*Remote, error) {
	r := &Remote{url: strings.TrimSuffix(url, "/"), client: &http.Client{Timeout: 10 * time.Second}, effects: map[string]bool{}}
	var err error
	if r.before, err = r.allRequests(); err != nil {
		return nil, fmt.Errorf("%s is no fake provider: %w", r.url, err)
	}
	made, err := r.Effects()
	for _, e := range made {
		r.effects[e.ID] = true
	}
	return r, err
}

// URL is the base URL.
func (r *Remote) URL() string { return r.url }

// Effects are those made since Dial.
func (r *Remote) Effects() ([]Effect, error) {
	var page EffectsPage
	if err := r.control(http.MethodGet, "effects", nil, &page); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(page.Effects, func(e Effect) bool { return r.effects[e.ID] }), nil
}

// Requests are those received since Dial.
func (r *Remote) Requests() (Requests, error) {
	all, err := r.allRequests()
	if err != nil || len(all.List) < len(r.before.List) {
		return Requests{}, err
	}
	return Requests{Writes: all.Writes - r.before.Writes, Lookups: all.Lookups - r.before.Lookups, Model: all.Model - r.before.Model, List: all.List[len(r.before.List):]}, nil
}

func (r *Remote) allRequests() (all Requests, err error) {
	return all, r.control(http.MethodGet, "requests", nil, &all)
}

// Arm adds faults.
func (r *Remote) Arm(faults ...Fault) error {
	return r.control(http.MethodPost, "faults", encode(faults), nil)
}

// ClearFaults disarms all faults.
func (r *Remote) ClearFaults() error { return r.control(http.MethodDelete, "faults", nil, nil) }

// Unstruck are the armed faults that have not struck yet.
func (r *Remote) Unstruck() ([]Fault, error) {
	var page FaultsPage
	return page.Unstruck, r.control(http.MethodGet, "faults", nil, &page)
}

func (r *Remote) control(method, path string, body []byte, into any) error {
	req, err := http.NewRequest(method, r.url+"/_control/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 256<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s /_control/%s: status %d: %.200s", method, path, res.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

package fakeprovider

import "net/http"

// remembered is the latest record of the request's key, nil if the key is not honoured or unknown.
func (c *Core) remembered(w *write) *record {
	if !w.keyed {
		return nil
	}
	return c.ledger.keys[keyHash(w.kind, w.action, w.key)]
}

// forgotten tells whether the record's time is over for this request. What is still in progress is not forgotten.
func (w *write) forgotten(r *record) bool {
	return w.forget > 0 && !w.now.Before(r.At.Add(w.forget)) && !w.now.Before(r.Ready)
}

// answer is what a repeat under a remembered key gets. Nothing is executed.
func (r *record) answer(w *write) Answer {
	request, err := canonicalText(w.body)
	if err != nil || request != r.Request {
		return errorAnswer(http.StatusConflict, "key_reused", "this key was used with another request")
	}
	if w.now.Before(r.Ready) {
		return inProgress()
	}
	a := typed(r.Status, r.ContentType, []byte(r.Body))
	a.Header.Set("Idempotent-Replayed", "true")
	return a
}

func inProgress() Answer {
	return errorAnswer(http.StatusConflict, "in_progress", "an earlier request with this key is still being processed")
}

func (w *write) newRecord(told Answer, last *record) *record {
	request, err := canonicalText(w.body)
	if err != nil {
		panic("fakeprovider: a body that was parsed before cannot be parsed: " + err.Error())
	}
	r := &record{Kind: w.kind, Action: w.action, Key: w.key, Request: request, At: w.now.UTC(), Ready: w.due.UTC(), Status: told.Status,
		ContentType: told.Header.Get("Content-Type"), Body: string(told.Body())}
	if last != nil {
		r.Generation = last.Generation + 1
	}
	return r
}

// remember stores an answer under the key without any effect, unless the key or an unreadable request stands against it.
func (c *Core) remember(w *write, told Answer) error {
	if _, err := parseObject(w.body); err != nil || !w.keyed {
		return nil
	}
	if err := c.ledger.refresh(); err != nil {
		return err
	}
	last := c.remembered(w)
	if last != nil && !w.forgotten(last) {
		return nil
	}
	if w.stored != nil {
		told = *w.stored
	}
	// Not to be the first here means that another process has just executed the key; its record stands.
	_, err := c.ledger.create(&entry{V: 1, Record: w.newRecord(told, last)})
	return err
}

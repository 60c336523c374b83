package exchange

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/lineage"
)

// used puts what the provider reported for one request on the exchange's account.
func (x *exchange) used(u model.Usage) {
	if u.Prompt() == 0 && u.Output == 0 {
		return
	}
	m, _ := x.rw.o.Models.Lookup(x.report.Model)
	usd, _ := m.Cost(u)
	r := &x.report
	if r.Usage.Prompt() == 0 {
		x.began = u
	}
	x.said = u.Output
	r.Usage.Input += u.Input
	r.Usage.CacheRead += u.CacheRead
	r.Usage.CacheWrite += u.CacheWrite
	r.Usage.CacheWrite1h += u.CacheWrite1h
	r.Usage.Output += u.Output
	r.Usage.Reasoning += u.Reasoning
	r.USD += usd
}

// client is what a turn's request takes as the client sent it, by our count.
type client struct {
	prompt int  // all of it
	cached int  // what begins an earlier request
	tools  int  // ours, which it does not have
	view   int  // what went out for it
	hidden bool // the view has messages that the client has not, or not whole
	cold   bool // the provider's cache has forgotten it
}

// without is about what the exchange would have cost without us: the client's own bytes, of
// which the cache has what it was sent before.
func (x *exchange) without() float64 {
	m, _ := x.rw.o.Models.Lookup(x.report.Model)
	u, t := x.began, x.turn
	if t == nil || t.size.view == 0 || u.Prompt() == 0 || x.rw.o.ObserveOnly {
		return x.report.USD
	}
	scale := float64(u.Prompt()) / float64(t.size.view)
	count := func(n int) int { return int(float64(n)*scale + 0.5) }
	if !t.folded && !t.size.hidden {
		for _, part := range []*int{&u.CacheRead, &u.CacheWrite1h, &u.CacheWrite, &u.Input} {
			if n := count(t.size.tools); *part >= n {
				*part -= n
				break
			}
		}
	} else {
		all, cached := count(t.size.prompt), count(t.size.cached)
		if t.size.cold || u.CacheRead+u.CacheWrite+u.CacheWrite1h == 0 {
			cached = 0
		}
		fresh := all - cached
		switch {
		case u.CacheWrite1h > 0:
			u = model.Usage{CacheRead: cached, CacheWrite1h: fresh}
		case u.CacheWrite > 0:
			u = model.Usage{CacheRead: cached, CacheWrite: fresh}
		default:
			u = model.Usage{CacheRead: cached, Input: fresh}
		}
	}
	u.Output = x.said // of the answer that the client got
	usd, _ := m.Cost(u)
	return usd
}

// measure takes the size of the turn's request as the client sent it. The caller holds the
// conversation's lock.
func (t *turn) measure(before lineage.Place, cold bool) {
	c := t.conv
	view := t.meter.Parts
	head := view.System + view.Tools - c.setup.ours
	t.size = client{
		prompt: head + c.size(t.mark.At), tools: c.setup.ours, view: view.Total(), cold: cold,
		hidden: slices.Contains(t.client, -1),
	}
	if known := min(before.Mark.At, t.mark.At); known > 0 {
		t.size.cached = head + c.size(known)
	}
}

// charge puts the exchange on the bill.
func (x *exchange) charge() {
	r := &x.report
	row := bill.Row{Tenant: x.req.from.Scope.Tenant, Model: r.Model}
	if x.near != nil {
		row.Session = x.near.key.Session
	}
	if t := x.turn; t != nil {
		row.Session = t.key.Session
	}
	r.Without = x.without()
	u := r.Usage
	m, _ := x.rw.o.Models.Lookup(r.Model)
	_, priced := m.Cost(u)
	row.Tally = bill.Tally{
		Requests: 1, Failed: one(r.failed()), Sent: r.Sent, Passed: one(r.Passed),
		Epochs: r.Epochs, Hidden: r.Hidden, Retried: one(r.Retried),
		BytesIn: int64(r.BytesIn), BytesOut: int64(r.BytesOut),
		Prompt: int64(u.Prompt()), CacheRead: int64(u.CacheRead),
		CacheWrite: int64(u.CacheWrite + u.CacheWrite1h), Output: int64(u.Output),
		USD: r.USD, Without: r.Without, Unpriced: one(!priced && u.Prompt()+u.Output > 0),
	}
	if x.turn != nil {
		row.Folded, row.Stored = one(x.turn.folded), x.turn.stored
	}
	if x.rw.o.ObserveOnly { // folds are only planned
		row.Folded, row.Stored, row.Epochs = 0, 0, 0
	}
	x.rw.book.Charge(row)
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// accounted lets a reply that is passed on be read on its way, for what it cost.
func (x *exchange) accounted(resp *http.Response) {
	p := &passing{x: x, from: resp.Body}
	if resp.StatusCode < 300 && x.rw.o.Decoders.PlainReply(resp) == nil {
		p.from = resp.Body
		if isStream(resp) {
			p.rec = x.on.Record()
		} else {
			p.rec = &wholeRecorder{read: x.on.Reply, take: x.takeFor}
		}
	}
	resp.Body = p
}

// wholeRecorder reads a reply that comes as a whole.
type wholeRecorder struct {
	bytes.Buffer
	read func(body []byte) (model.Reply, error)
	take func(n int) bool
}

func (r *wholeRecorder) Write(b []byte) (int, error) {
	if r.Len() > maxError || !r.take(len(b)) {
		return 0, io.ErrShortBuffer
	}
	return r.Buffer.Write(b)
}

func (r *wholeRecorder) Reply() (model.Reply, error) { return r.read(r.Bytes()) }

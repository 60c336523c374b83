package digest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// digestJob gets one digest from a model: it asks, checks, and climbs down the ladder
// (normal, once more with what was wrong, shorter) until a text passes the gate or there
// is no more time, money or hope. It knows nothing of sessions.
type Job struct {
	Src    *Source
	O      Options
	How    Ask
	Live   model.Model // what the live request goes to
	Rates  model.Rates // of the live request's cache
	Count  func(string) int
	Key    string
	Allow  func() error // asked before every call; an error ends the job
	Report Report

	forked bool
	room   int    // tokens of turns that one request may hold
	prev   string // the digest so far
	from   int    // the first message that it does not tell of
	gate   *gateSource
}

// Reasons for giving up.
var (
	ErrSpent  = errors.New("too many calls of the model in a short time")
	errWrong  = errors.New("no answer passed the gate")
	errFailed = errors.New("the model could not be asked")
)

// run returns the digest. With an error there is none; the report says what happened.
func (j *Job) Run(ctx context.Context) (string, error) {
	j.Report = Report{
		Start: j.Src.Need.Start, End: j.Src.Need.End, By: "code", Model: j.O.Model.ID, Focus: j.Src.Need.Focus,
	}
	if w := j.O.Model.Window; w > 0 {
		j.Src.Need.Room = min(j.Src.Need.Room, w/4) // a small summarizer must be able to read it again
	}
	if n := j.O.Tokens; n > 0 {
		j.Src.Need.Room = min(j.Src.Need.Room, n)
	}
	j.from, j.room = j.Src.First, j.turnsRoom()
	j.prev = j.Src.Prev
	if !j.How.Trust {
		j.gate = newGateSource(j.Src, j.O)
	}
	j.forked = j.fork()
	j.Report.Forked = j.forked
	text, err := j.ladder(ctx)
	if err != nil {
		j.Report.Why = err.Error()
		return "", err
	}
	j.Report.By, j.Report.Tokens = "model", j.Count(text)
	return text, nil
}

func (j *Job) ladder(ctx context.Context) (string, error) {
	last := rungShorter
	if j.How.Trust {
		last = rungNormal // the source texts have no ladder
	}
	var wrong []Finding
	for r := rungNormal; ; r++ {
		text, findings, err := j.try(ctx, r, wrong)
		if err == nil {
			j.Report.Tries = append(j.Report.Tries, Try{Kind: r.String()})
			j.Report.Findings = findings
			return text, nil
		}
		j.Report.Tries = append(j.Report.Tries, Try{Kind: r.String(), Wrong: wrongText(findings, err)})
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("out of time: %w", ctx.Err())
		case errors.Is(err, ErrSpent) || hopeless(err):
			return "", err
		case r == last && errors.Is(err, errWrong):
			return "", errWrong
		case r == last:
			return "", fmt.Errorf("%w: %w", errFailed, err)
		}
		wrong = findings
		j.adapt(err)
	}
}

func wrongText(findings []Finding, err error) string {
	if len(findings) == 0 {
		return err.Error()
	}
	list := make([]string, 0, 3)
	for _, f := range findings[:min(len(findings), 3)] {
		list = append(list, text.Clip(f.String(), 100))
	}
	if n := len(findings) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	return strings.Join(list, "; ")
}

// hopeless reports whether asking again cannot help.
func hopeless(err error) bool {
	e, ok := errors.AsType[*model.APIError](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case model.ErrorAuth, model.ErrorPermission, model.ErrorBilling, model.ErrorNotFound, model.ErrorRefused:
		return true
	}
	return false
}

// adapt makes the next request smaller if the last one was too long.
func (j *Job) adapt(err error) {
	e, ok := errors.AsType[*model.APIError](err)
	if !ok || !e.Overflow() {
		return
	}
	if j.forked {
		j.forked = false // as text it is shorter
		return
	}
	j.room /= 2
	if room := e.Limit - e.Output; e.Kind == model.ErrorTooLong && e.Used > 0 && room > 0 && room < e.Used {
		j.room = max(j.room, j.room*2*room/e.Used*8/10)
	}
	j.room = max(j.room, 500)
}

// try asks for the whole digest once: in one request, or group by group, each answer being
// the earlier digest of the next. Groups that are done stay done.
func (j *Job) try(ctx context.Context, r rung, wrong []Finding) (string, []Finding, error) {
	w := wanted{rung: r, room: j.Src.Need.Room, wrong: wrong, parts: 1}
	if r == rungShorter {
		w.room = max(w.room*2/3, 100)
	}
	if j.forked {
		w.prev = j.prev != ""
		return j.ask(ctx, w, j.request(w, "", ""))
	}
	var groups []group
	if j.How.Trust {
		groups = []group{{j.Src.Need.Start, j.Src.Need.End, j.Src.shown()}}
	} else {
		groups = j.Src.groups(j.from, j.room, j.Count)
	}
	var findings []Finding
	for i, g := range groups {
		w.part, w.parts, w.prev = i, len(groups), j.prev != ""
		text, found, err := j.ask(ctx, w, j.request(w, j.prev, g.text))
		if err != nil {
			return "", found, err
		}
		j.prev, j.from = text, g.end
		findings, w.wrong = append(findings, found...), nil
	}
	return j.prev, findings, nil
}

// ask makes one request, again if its stream breaks, and passes the answer through the
// gate.
func (j *Job) ask(ctx context.Context, w wanted, req *model.Request) (string, []Finding, error) {
	reply, err := j.call(ctx, req)
	for n := 0; err != nil && n < j.How.Retries && broken(err) && ctx.Err() == nil; n++ {
		if err := pause(ctx, err); err != nil {
			return "", nil, err
		}
		reply, err = j.call(ctx, req)
	}
	if err != nil {
		return "", nil, err
	}
	text, bad := answerText(reply, j.How.Trust)
	if len(bad) > 0 {
		return "", bad, errWrong
	}
	if j.How.Trust {
		return text, nil, nil
	}
	res := j.gate.check(text, gateWants{room: j.Src.Need.Room, words: j.O.Words, replaces: j.Src.Replaces, prev: j.prev, count: j.Count})
	if !res.ok {
		return "", res.findings, errWrong
	}
	return res.text, res.findings, nil
}

// call asks the model once.
func (j *Job) call(ctx context.Context, req *model.Request) (model.Reply, error) {
	if err := j.Allow(); err != nil {
		return model.Reply{}, err
	}
	j.Report.Calls++
	reply, err := j.O.Generator.Generate(ctx, req, nil)
	j.spend(reply.Usage)
	switch {
	case err != nil:
		return model.Reply{}, err
	case reply.Err != nil:
		return model.Reply{}, reply.Err
	}
	return reply, nil
}

func (j *Job) spend(u model.Usage) {
	sum := &j.Report.Usage
	sum.Input += u.Input
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.CacheWrite1h += u.CacheWrite1h
	sum.Output += u.Output
	sum.Reasoning += u.Reasoning
	usd, _ := j.O.Model.Cost(u)
	j.Report.USD += usd
}

// broken reports whether the same request may succeed: the stream broke off, or the
// provider says so.
func broken(err error) bool {
	if e, ok := errors.AsType[*model.APIError](err); ok {
		return e.Retryable()
	}
	return !errors.Is(err, ErrSpent)
}

// pause waits as long as the provider asks, at least a second if it refused at all.
func pause(ctx context.Context, err error) error {
	e, ok := errors.AsType[*model.APIError](err)
	if !ok {
		return nil
	}
	t := time.NewTimer(max(e.Wait(time.Now()), time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to ask again: %w: %w", err, ctx.Err())
	}
}

// turnsRoom is how many tokens of turns one standalone request may hold.
func (j *Job) turnsRoom() int {
	const instruction = 1_500
	window := j.O.Model.Window
	if window == 0 {
		window = model.DefaultWindow
	}
	answer := j.answerTokens(j.Src.Need.Room)
	room := window - answer
	if m := j.O.Model.MaxInput; m > 0 {
		room = min(room, m)
	}
	// Our count may be off by a tenth for this model.
	return max((room-instruction-j.Src.Need.Room)*9/10, 500)
}

// fork decides how to ask: with the live request's prefix, which the provider has in its
// cache, or with the turns as text, which are fewer tokens and may go to a cheaper model.
func (j *Job) fork() bool {
	if j.How.Trust || j.O.Fork == ForkNever || len(j.Src.View) == 0 {
		return false
	}
	prompt := j.Src.ViewTokens + j.Count(j.Src.System)
	for _, t := range j.Src.Tools {
		prompt += j.Count(t.Description) + j.Count(t.Schema)
	}
	if prompt+2_000 > (j.turnsRoom()+j.Src.Need.Room)*10/9 {
		return false
	}
	if j.O.Fork == ForkAlways {
		return true
	}
	if j.O.Model.ID != j.Live.ID {
		return false // another model has nothing in its cache
	}
	rate := j.Rates.Read
	if j.Src.cold {
		rate = j.Rates.Write
	}
	text := 0
	for _, g := range j.Src.groups(j.from, j.turnsRoom(), j.Count) {
		text += j.Count(g.text)
	}
	return float64(prompt)*rate < float64(text)
}

package pleat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// digestJob gets one digest from a model: it asks, checks, and climbs down the ladder
// (normal, once more with what was wrong, shorter) until a text passes the gate or there
// is no more time, money or hope. It knows nothing of sessions.
type digestJob struct {
	src    *digestSource
	o      DigestOptions
	how    digestAsk
	live   Model // what the live request goes to
	rates  Rates // of the live request's cache
	count  func(string) int
	key    string
	allow  func() error // asked before every call; an error ends the job
	report DigestReport

	forked bool
	room   int    // tokens of turns that one request may hold
	prev   string // the digest so far
	from   int    // the first message that it does not tell of
	gate   *gateSource
}

// Reasons for giving up.
var (
	errDigestSpent  = errors.New("too many calls of the model in a short time")
	errDigestWrong  = errors.New("no answer passed the gate")
	errDigestFailed = errors.New("the model could not be asked")
)

// run returns the digest. With an error there is none; the report says what happened.
func (j *digestJob) run(ctx context.Context) (string, error) {
	j.report = DigestReport{
		Start: j.src.need.start, End: j.src.need.end, By: "code", Model: j.o.Model.ID, Focus: j.src.need.focus,
	}
	if w := j.o.Model.Window; w > 0 {
		j.src.need.room = min(j.src.need.room, w/4) // a small summarizer must be able to read it again
	}
	if n := j.o.Tokens; n > 0 {
		j.src.need.room = min(j.src.need.room, n)
	}
	j.from, j.room = j.src.first, j.turnsRoom()
	j.prev = j.src.prev
	if !j.how.trust {
		j.gate = newGateSource(j.src, j.o)
	}
	j.forked = j.fork()
	j.report.Forked = j.forked
	text, err := j.ladder(ctx)
	if err != nil {
		j.report.Why = err.Error()
		return "", err
	}
	j.report.By, j.report.Tokens = "model", j.count(text)
	return text, nil
}

func (j *digestJob) ladder(ctx context.Context) (string, error) {
	last := rungShorter
	if j.how.trust {
		last = rungNormal // the source texts have no ladder
	}
	var wrong []Finding
	for r := rungNormal; ; r++ {
		text, findings, err := j.try(ctx, r, wrong)
		if err == nil {
			j.report.Tries = append(j.report.Tries, Try{Kind: r.String()})
			j.report.Findings = findings
			return text, nil
		}
		j.report.Tries = append(j.report.Tries, Try{Kind: r.String(), Wrong: wrongText(findings, err)})
		switch {
		case ctx.Err() != nil:
			return "", fmt.Errorf("out of time: %w", ctx.Err())
		case errors.Is(err, errDigestSpent) || hopeless(err):
			return "", err
		case r == last && errors.Is(err, errDigestWrong):
			return "", errDigestWrong
		case r == last:
			return "", fmt.Errorf("%w: %w", errDigestFailed, err)
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
		list = append(list, clip(f.String(), 100))
	}
	if n := len(findings) - len(list); n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	return strings.Join(list, "; ")
}

// hopeless reports whether asking again cannot help.
func hopeless(err error) bool {
	e, ok := errors.AsType[*APIError](err)
	if !ok {
		return false
	}
	switch e.Kind {
	case ErrorAuth, ErrorPermission, ErrorBilling, ErrorNotFound, ErrorRefused:
		return true
	}
	return false
}

// adapt makes the next request smaller if the last one was too long.
func (j *digestJob) adapt(err error) {
	e, ok := errors.AsType[*APIError](err)
	if !ok || !e.Overflow() {
		return
	}
	if j.forked {
		j.forked = false // as text it is shorter
		return
	}
	j.room /= 2
	if room := e.Limit - e.Output; e.Kind == ErrorTooLong && e.Used > 0 && room > 0 && room < e.Used {
		j.room = max(j.room, j.room*2*room/e.Used*8/10)
	}
	j.room = max(j.room, 500)
}

// try asks for the whole digest once: in one request, or group by group, each answer being
// the earlier digest of the next. Groups that are done stay done.
func (j *digestJob) try(ctx context.Context, r rung, wrong []Finding) (string, []Finding, error) {
	w := wanted{rung: r, room: j.src.need.room, wrong: wrong, parts: 1}
	if r == rungShorter {
		w.room = max(w.room*2/3, 100)
	}
	if j.forked {
		w.prev = j.prev != ""
		return j.ask(ctx, w, j.request(w, "", ""))
	}
	var groups []group
	if j.how.trust {
		groups = []group{{j.src.need.start, j.src.need.end, j.src.shown()}}
	} else {
		groups = j.src.groups(j.from, j.room, j.count)
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
func (j *digestJob) ask(ctx context.Context, w wanted, req *Request) (string, []Finding, error) {
	reply, err := j.call(ctx, req)
	for n := 0; err != nil && n < j.how.retries && broken(err) && ctx.Err() == nil; n++ {
		if err := pause(ctx, err); err != nil {
			return "", nil, err
		}
		reply, err = j.call(ctx, req)
	}
	if err != nil {
		return "", nil, err
	}
	text, bad := answerText(reply, j.how.trust)
	if len(bad) > 0 {
		return "", bad, errDigestWrong
	}
	if j.how.trust {
		return text, nil, nil
	}
	res := j.gate.check(text, gateWants{room: j.src.need.room, words: j.o.Words, replaces: j.src.replaces, prev: j.prev, count: j.count})
	if !res.ok {
		return "", res.findings, errDigestWrong
	}
	return res.text, res.findings, nil
}

// call asks the model once.
func (j *digestJob) call(ctx context.Context, req *Request) (Reply, error) {
	if err := j.allow(); err != nil {
		return Reply{}, err
	}
	j.report.Calls++
	reply, err := j.o.Generator.Generate(ctx, req, nil)
	j.spend(reply.Usage)
	switch {
	case err != nil:
		return Reply{}, err
	case reply.Err != nil:
		return Reply{}, reply.Err
	}
	return reply, nil
}

func (j *digestJob) spend(u Usage) {
	sum := &j.report.Usage
	sum.Input += u.Input
	sum.CacheRead += u.CacheRead
	sum.CacheWrite += u.CacheWrite
	sum.CacheWrite1h += u.CacheWrite1h
	sum.Output += u.Output
	sum.Reasoning += u.Reasoning
	usd, _ := j.o.Model.Cost(u)
	j.report.USD += usd
}

// broken reports whether the same request may succeed: the stream broke off, or the
// provider says so.
func broken(err error) bool {
	if e, ok := errors.AsType[*APIError](err); ok {
		return e.Retryable()
	}
	return !errors.Is(err, errDigestSpent)
}

// pause waits as long as the provider asks, at least a second if it refused at all.
func pause(ctx context.Context, err error) error {
	e, ok := errors.AsType[*APIError](err)
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
func (j *digestJob) turnsRoom() int {
	const instruction = 1_500
	window := j.o.Model.Window
	if window == 0 {
		window = DefaultWindow
	}
	answer := j.answerTokens(j.src.need.room)
	room := window - answer
	if m := j.o.Model.MaxInput; m > 0 {
		room = min(room, m)
	}
	// Our count may be off by a tenth for this model.
	return max((room-instruction-j.src.need.room)*9/10, 500)
}

// fork decides how to ask: with the live request's prefix, which the provider has in its
// cache, or with the turns as text, which are fewer tokens and may go to a cheaper model.
func (j *digestJob) fork() bool {
	if j.how.trust || j.o.Fork == ForkNever || len(j.src.view) == 0 {
		return false
	}
	prompt := j.src.viewTokens + j.count(j.src.system)
	for _, t := range j.src.tools {
		prompt += j.count(t.Description) + j.count(t.Schema)
	}
	if prompt+2_000 > (j.turnsRoom()+j.src.need.room)*10/9 {
		return false
	}
	if j.o.Fork == ForkAlways {
		return true
	}
	if j.o.Model.ID != j.live.ID {
		return false // another model has nothing in its cache
	}
	rate := j.rates.Read
	if j.src.cold {
		rate = j.rates.Write
	}
	text := 0
	for _, g := range j.src.groups(j.from, j.turnsRoom(), j.count) {
		text += j.count(g.text)
	}
	return float64(prompt)*rate < float64(text)
}

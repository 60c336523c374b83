// Package summarizer gets a digest of old turns from a model. [Write] asks for it, checks what
// comes back against the conversation, strikes what the conversation does not bear out, and
// asks again if too little is left.
package summarizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/fault"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// Job is one digest that a model is to write.
type Job struct {
	Source  *Source
	Options digest.Options
	Ask     Ask
	Live    model.Model      // what the live request goes to
	Rates   model.Rates      // of the live request's cache
	Count   func(string) int // counts tokens
	Key     string           // the session's, for the provider's cache
	Allow   func() error     // called before every request; an error ends the job
	Heard   func()           // called with every piece of an answer
}

// writer does a job: it asks, checks, and climbs down the ladder (normal, once more with
// what was wrong, shorter) until a text passes the gate or asking again cannot help.
type writer struct {
	Job
	report digest.Origin
	forked bool
	room   int    // tokens of turns that one request may hold
	prev   string // the digest so far
	from   int    // the first message that it is not about
	drop   int    // groups at the beginning that a summary leaves out
	drops  int    // how often that number was raised
	gate   *gateSource
}

// Reasons for giving up.
var (
	ErrSpent  = errors.New("too many calls of the model in a short time")
	errWrong  = errors.New("no answer passed the gate")
	errFailed = errors.New("the model could not be asked")
)

// Write gets a digest from a model. With an error there is none. The report says how it
// came to be, or why not. Write lowers job.Source.Need.Room to what the model can handle.
// A panic of the generator is an error.
func Write(ctx context.Context, job Job) (string, digest.Origin, error) {
	need := &job.Source.Need
	j := &writer{Job: job, report: digest.Origin{
		Start: need.Start, End: need.End, By: "code", Model: job.Options.Model.ID, Focus: need.Focus,
	}}
	var text string
	err := fault.Caught(func() (err error) {
		text, err = j.write(ctx)
		return err
	})
	if p := (*fault.Panic)(nil); errors.As(err, &p) {
		j.report.Why = fmt.Sprintf("asking it panicked: %v", p.Value)
	}
	return text, j.report, err
}

func (j *writer) write(ctx context.Context) (string, error) {
	need := &j.Source.Need
	if w := j.Options.Model.Window; w > 0 {
		need.Room = min(need.Room, w/4) // a small summarizer must be able to read it again
	}
	for _, most := range []int{j.Options.Tokens, j.Options.Model.MaxOutput} {
		if most > 0 {
			need.Room = min(need.Room, most)
		}
	}
	j.prev, j.from, j.room = j.Source.Prev, j.Source.First, j.turnsRoom()
	j.gate = newGateSource(j.Source, j.Options)
	j.forked = j.fork()
	j.report.Forked = j.forked
	text, err := j.ladder(ctx)
	if err != nil {
		j.report.Why = err.Error()
		return "", err
	}
	j.report.By, j.report.Tokens = "model", j.Count(text)
	return text, nil
}

func (j *writer) ladder(ctx context.Context) (string, error) {
	last := rungShorter
	if j.Ask.Trust {
		last = rungNormal
	}
	var wrong []digest.Finding
	for r := rungNormal; ; r++ {
		text, findings, err := j.try(ctx, r, wrong)
		if err == nil {
			j.report.Tries = append(j.report.Tries, digest.Try{Kind: r.String()})
			j.report.Findings = findings
			return text, nil
		}
		j.report.Tries = append(j.report.Tries, digest.Try{Kind: r.String(), Wrong: wrongText(findings, err)})
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return "", fmt.Errorf("the caller gave up: %w", ctx.Err())
		case ctx.Err() != nil:
			return "", fmt.Errorf("out of time: %w", ctx.Err())
		case j.Ask.Trust && j.dropHead(err):
			r--
			continue
		case errors.Is(err, ErrSpent) || hopeless(ctx, err):
			return "", err
		case r == last && errors.Is(err, errWrong):
			return "", fmt.Errorf("%w; the last: %s", errWrong, wrongText(findings, err))
		case r == last:
			return "", fmt.Errorf("%w: %w", errFailed, err)
		}
		wrong = findings
		j.adapt(err)
	}
}

func wrongText(findings []digest.Finding, err error) string {
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

// hopeless reports whether asking again cannot help, or the provider wants to be asked too late.
func hopeless(ctx context.Context, err error) bool {
	var e *model.APIError
	if !errors.As(err, &e) {
		return false
	}
	deadline, ok := ctx.Deadline()
	return ok && e.Wait(time.Now()) > time.Until(deadline) || slices.Contains([]model.ErrorKind{
		model.ErrorAuth, model.ErrorPermission, model.ErrorBilling, model.ErrorNotFound, model.ErrorRefused,
	}, e.Kind)
}

// adapt makes the next request smaller if the last one was too long.
func (j *writer) adapt(err error) {
	var e *model.APIError
	if !errors.As(err, &e) || !e.Overflow() {
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

// dropHead leaves the oldest groups of turns out of a summary whose request was too long: as
// many as the error's numbers say, else a fifth. It reports whether asking again makes sense.
func (j *writer) dropHead(err error) bool {
	var e *model.APIError
	left := j.Source.shownGroups() - j.drop
	if !errors.As(err, &e) || !e.Overflow() || left <= 1 || j.drops == maxDrops {
		return false
	}
	n := left / 5
	if room := e.Limit - e.Output; e.Kind == model.ErrorTooLong && e.Used > 0 && room > 0 && room < e.Used {
		n = left * (e.Used - room) / e.Used
	}
	j.drop += min(n+1, left-1)
	j.report.Unread = j.drop
	j.drops++
	return true
}

// maxDrops is how often a summary that is too long to ask for is shortened.
const maxDrops = 5

// try asks for the whole digest once: in one request, or group by group, where each answer
// is the earlier digest of the next. Groups that are done are not asked for again.
func (j *writer) try(ctx context.Context, r rung, wrong []digest.Finding) (string, []digest.Finding, error) {
	w := wanted{rung: r, room: j.Source.Need.Room, wrong: wrong, parts: 1}
	if r == rungShorter {
		w.room = max(w.room*2/3, 100)
	}
	if j.forked {
		w.prev = j.prev != ""
		return j.ask(ctx, w, j.request(w, "", ""))
	}
	groups := []group{{start: j.Source.Need.Start, end: j.Source.Need.End}}
	if j.Ask.Trust {
		groups[0].text = j.Source.shown(j.Ask.JSON, j.drop)
	} else {
		groups = j.Source.groups(j.from, j.room, j.Count)
	}
	var findings []digest.Finding
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

// ask makes one request, repeats it if its stream breaks or its answer is of no use, and passes
// the answer through the gate.
func (j *writer) ask(ctx context.Context, w wanted, req *model.Request) (string, []digest.Finding, error) {
	text, found, err := j.answer(ctx, req)
	var e *model.APIError
	if errors.As(err, &e) && e.Kind == model.ErrorInvalid && req.Temperature != nil {
		req.Temperature = nil // a model that nobody knows may not take one
		text, found, err = j.answer(ctx, req)
	}
	for n := 0; err != nil && n < j.Ask.Retries && broken(err) && !hopeless(ctx, err) && ctx.Err() == nil; n++ {
		if err := pause(ctx, err); err != nil {
			return "", nil, err
		}
		text, found, err = j.answer(ctx, req)
	}
	if err != nil || j.Ask.Trust {
		return text, found, err
	}
	room := j.Source.Need.Room
	wants := gateWants{
		room: room, gives: min(room/viewGives, j.Source.Need.Spare/2), most: room + room/cutSlack,
		replaces: j.Source.Replaces, prev: j.prev, count: j.Count,
	}
	if j.Options.Tokens > 0 {
		wants.gives = min(wants.gives, max(j.Options.Tokens-room, 0))
	}
	if w.rung == rungShorter {
		wants.most = 0
	}
	res := j.gate.check(text, wants)
	if !res.ok {
		return "", res.findings, errWrong
	}
	return res.text, res.findings, nil
}

// answer makes one request and returns the digest in the answer. One that is taken as it came must
// at least be about the turns, which a refusal is not.
func (j *writer) answer(ctx context.Context, req *model.Request) (string, []digest.Finding, error) {
	reply, err := j.call(ctx, req)
	if err != nil {
		return "", nil, err
	}
	text, found := answerText(reply, j.Ask.Trust)
	if j.Ask.Trust && text != "" {
		if lacks := j.gate.source.lacksThings(text); lacks != "" {
			text, found = "", []digest.Finding{{Kind: digest.FoundEmpty, What: lacks}}
		}
	}
	if text == "" {
		return "", found, errWrong
	}
	return text, found, nil
}

func (j *writer) call(ctx context.Context, req *model.Request) (model.Reply, error) {
	if err := j.Allow(); err != nil {
		return model.Reply{}, err
	}
	j.report.Calls++
	reply, err := j.Options.Generator.Generate(ctx, req, func(model.Delta) { j.Heard() })
	if err == nil {
		j.Heard()
	}
	j.spend(reply.Usage)
	if err == nil && reply.Err != nil {
		err = reply.Err
	}
	return reply, err
}

func (j *writer) spend(u model.Usage) {
	j.report.Usage = j.report.Usage.Plus(u)
	usd, _ := j.Options.Model.Cost(u)
	j.report.USD += usd
}

// broken reports whether the same request may succeed: the stream broke off, or the
// provider says so.
func broken(err error) bool {
	var e *model.APIError
	if errors.As(err, &e) {
		return e.Retryable()
	}
	return !errors.Is(err, ErrSpent)
}

// pause waits as long as the provider asks, at least a second if it answered with an error.
func pause(ctx context.Context, err error) error {
	var e *model.APIError
	if !errors.As(err, &e) {
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
func (j *writer) turnsRoom() int {
	const instruction = 1_500
	room := cmp.Or(j.Options.Model.Window, model.DefaultWindow) - j.answerTokens(j.Source.Need.Room)
	if m := j.Options.Model.MaxInput; m > 0 {
		room = min(room, m)
	}
	// Our count may be off by a tenth for this model.
	return max((room-instruction-j.Source.Need.Room)*9/10, 500)
}

// fork decides how to ask: with the live request's prefix, which the provider has in its
// cache, or with the turns as text, which are fewer tokens and may go to a cheaper model.
func (j *writer) fork() bool {
	if j.Ask.Trust || j.Options.NoFork || len(j.Source.View) == 0 {
		return false
	}
	prompt := j.Source.ViewTokens + j.Count(j.Source.System)
	for _, t := range j.Source.Tools {
		prompt += j.Count(t.Description) + j.Count(t.Schema)
	}
	if prompt+2_000 > (j.turnsRoom()+j.Source.Need.Room)*10/9 {
		return false
	}
	if j.Options.Model.ID != j.Live.ID {
		return false // another model has nothing in its cache
	}
	text := 0
	for _, g := range j.Source.groups(j.from, j.turnsRoom(), j.Count) {
		text += j.Count(g.text)
	}
	return float64(prompt)*j.Rates.Read < float64(text)
}

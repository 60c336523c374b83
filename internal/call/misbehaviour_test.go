package call_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Every way in which servers misbehave, with every client. Time is that of the bubble: a
// case says exactly how long it takes.
func TestMisbehaviour(t *testing.T) {
	for _, w := range wires {
		good := events(w.stream...)
		for _, tt := range []misbehaviour{
			{name: "stream", answers: list(good), text: "Hello", shown: "Hello"},
			{
				name:    "one piece although a stream was asked for",
				answers: list(status(200, w.whole)),
				text:    "Hello",
				shown:   "Hello",
			},
			{
				name:    "one piece of no type",
				answers: list(status(200, w.whole, "Content-Type", "")),
				text:    "Hello",
				shown:   "Hello",
			},
			{name: "stream of a wrong type", answers: list(mistyped(good)), text: "Hello", shown: "Hello"},
			{
				name: "stream that stays open", answers: list(then(good, hang)), text: "Hello", shown: "Hello",
				takes: time.Second,
			},

			{
				name:    "429 with retry-after",
				answers: list(status(429, "{}", "Retry-After", "7"), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   7 * time.Second,
			},
			{
				name:    "429 with a date",
				answers: list(retryDate(9*time.Second), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   9 * time.Second,
			},
			{
				name:    "429 with milliseconds",
				answers: list(status(429, "{}", "Retry-After-Ms", "250", "Retry-After", "1"), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   250 * time.Millisecond,
			},
			{
				name: "429 for ten minutes", answers: list(status(429, "{}", "Retry-After", "600")),
				kind: model.ErrorRateLimited,
			},
			{name: "529", answers: list(status(529, ""), good), text: "Hello", shown: "Hello", takes: time.Second},
			{
				name:    "500 twice",
				answers: list(status(500, "oops"), status(500, "oops"), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   3 * time.Second,
			},
			{
				name:    "500 for good",
				answers: list(status(500, "oops"), status(502, "<html>"), status(503, "oops")),
				kind:    model.ErrorOverloaded,
				takes:   3 * time.Second,
			},
			{
				name:    "500 that should not be retried",
				answers: list(status(500, "oops", "X-Should-Retry", "false")),
				kind:    model.ErrorServer,
			},
			{
				name:    "400 that should be retried",
				answers: list(status(400, `{"error":{"message":"busy"}}`, "X-Should-Retry", "true"), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   time.Second,
			},
			{name: "asked once", once: true, answers: list(status(500, "oops")), kind: model.ErrorServer},
			{
				name: "no retries", tuning: tuning{retries: -1}, answers: list(status(500, "oops")),
				kind: model.ErrorServer,
			},

			{
				name: "too long", answers: list(status(400, w.tooLong, "X-Should-Retry", "true")),
				kind: model.ErrorTooLong,
			},
			{name: "413", answers: list(status(413, "<html>too large</html>")), kind: model.ErrorTooLarge},
			{
				name:    "401 that repeats the key",
				answers: list(status(401, `{"error":{"message":"bad key `+key+`"}}`)),
				kind:    model.ErrorAuth,
			},
			{name: "403", answers: list(status(403, "{}")), kind: model.ErrorPermission},
			{name: "404", answers: list(status(404, "{}")), kind: model.ErrorNotFound},
			{
				name:    "content filter",
				answers: list(status(400, `{"error":{"message":"no","code":"content_filter"}}`)),
				kind:    model.ErrorRefused,
			},

			{
				name:    "hang before the answer",
				tuning:  tuning{idle: 30 * time.Second, retries: 1},
				answers: list(hang, hang),
				is:      os.ErrDeadlineExceeded,
				takes:   61 * time.Second,
			},
			{
				name:    "hang, then not",
				tuning:  tuning{idle: 30 * time.Second},
				answers: list(hang, good),
				text:    "Hello",
				shown:   "Hello",
				takes:   31 * time.Second,
			},
			{
				name:    "hang within the answer",
				tuning:  tuning{idle: 30 * time.Second},
				answers: list(then(events(w.stream[:2]...), hang)),
				is:      os.ErrDeadlineExceeded,
				text:    "Hello",
				shown:   "Hello",
				takes:   30 * time.Second,
			},
			{
				name:    "slow but alive",
				tuning:  tuning{idle: 30 * time.Second},
				answers: list(slow(20*time.Second, w.stream)),
				text:    "Hello",
				shown:   "Hello",
				takes:   time.Minute,
			},

			{
				name:    "half a stream",
				answers: list(events(w.stream[:2]...)),
				is:      io.ErrUnexpectedEOF,
				text:    "Hello",
				shown:   "Hello",
			},
			{
				name:    "half a stream that nobody watches",
				blind:   true,
				answers: list(events(w.stream[:2]...), good),
				text:    "Hello",
				takes:   time.Second,
			},
			{
				name:    "beginning of a stream",
				answers: list(events(w.stream[0]), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   time.Second,
			},
			{
				name:    "nothing at all",
				answers: list(events(), events(), events()),
				is:      io.ErrUnexpectedEOF,
				takes:   3 * time.Second,
			},
			{
				name:    "half an event",
				answers: list(events(w.stream[0], w.stream[1][:40]), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   time.Second,
			},
			{
				name:    "broken connection",
				answers: list(then(events(w.stream[:2]...), cut)),
				is:      io.ErrUnexpectedEOF,
				text:    "Hello",
				shown:   "Hello",
			},
			{
				name: "broken connection at once", answers: list(cut, good), text: "Hello", shown: "Hello",
				takes: time.Second,
			},

			{
				name:    "error in the stream, early",
				answers: list(events(w.stream[0], w.failed), good),
				text:    "Hello",
				shown:   "Hello",
				takes:   time.Second,
			},
			{
				name:    "error in the stream, late",
				answers: list(events(w.stream[0], w.stream[1], w.failed)),
				kind:    model.ErrorOverloaded,
				text:    "Hello",
				shown:   "Hello",
			},
			{
				name: "too long, said in the stream",
				answers: list(events("data: " + strings.Replace(w.tooLong, `{"error"`, `{"type":"error","error"`, 1) +
					"\n\n")),
				kind: model.ErrorTooLong,
			},

			{name: "malformed JSON", answers: list(status(200, w.badJSON)), says: "decode"},
			{
				name:    "malformed event",
				blind:   true,
				tuning:  tuning{retries: -1},
				answers: list(events(w.stream[0], "data: {]\n\n", w.stream[1])),
				is:      io.ErrUnexpectedEOF,
				text:    "?",
			},
			{
				name: "a page", answers: list(status(200, "<html>", "Content-Type", "text/html")),
				says: "check the base URL",
			},
			{
				name:    "too large",
				tuning:  tuning{limit: 100},
				answers: list(events(w.stream[0], strings.Repeat(w.stream[1], 100))),
				says:    "too large",
				shown:   "?",
				text:    "?",
			},
			{
				name: "too large in one piece", tuning: tuning{limit: 10}, answers: list(status(200, w.whole)),
				says: "too large",
			},
		} {
			t.Run(w.name+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { tt.run(t, w) })
			})
		}
	}
}

type misbehaviour struct {
	name    string
	answers []http.HandlerFunc // each must be asked for
	tuning  tuning
	blind   bool // without a sink
	once    bool // the request says so

	text, shown string // of the reply, and what the sink got; "?": either
	takes       time.Duration
	kind        model.ErrorKind // of the APIError; 0: there is none
	is          error
	says        string
}

func list(h ...http.HandlerFunc) []http.HandlerFunc { return h }

func (tt misbehaviour) run(t *testing.T, w wire) {
	s, hc := start(t, tt.answers...)
	var shown strings.Builder
	sink := func(d model.Delta) { shown.WriteString(d.Text) }
	if tt.blind {
		sink = nil
	}
	before := time.Now()
	req := request(w.model)
	req.Once = tt.once
	reply, err := w.client("http://model.test", hc, tt.tuning).Generate(t.Context(), req, sink)
	if got := time.Since(before); got != tt.takes {
		t.Errorf("took %s, want %s", got, tt.takes)
	}
	if got := s.tries(); got != len(tt.answers) {
		t.Errorf("%d tries, want %d", got, len(tt.answers))
	}
	if got := textOf(reply); got != tt.text && tt.text != "?" {
		t.Errorf("reply says %q, want %q", got, tt.text)
	}
	if got := shown.String(); got != tt.shown && tt.shown != "?" {
		t.Errorf("sink got %q, want %q", got, tt.shown)
	}
	tt.check(t, err)
	if err == nil && (reply.Stop != model.StopEnd || reply.Usage != model.Usage{Input: 3, Output: 1}) {
		t.Errorf("stop %s, usage %+v", reply.Stop, reply.Usage)
	}
}

func (tt misbehaviour) check(t *testing.T, err error) {
	t.Helper()
	wanted := tt.kind != 0 || tt.is != nil || tt.says != ""
	if (err != nil) != wanted {
		t.Fatalf("error %v, wanted one: %t", err, wanted)
	}
	if err == nil {
		return
	}
	if strings.Contains(err.Error(), key) {
		t.Errorf("the key is in the error: %v", err)
	}
	if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
		t.Errorf("got %v, want %v %q", err, tt.is, tt.says)
	}
	var api *model.APIError
	ok := errors.As(err, &api)
	switch {
	case ok != (tt.kind != 0):
		t.Errorf("an APIError: %t in %v", ok, err)
	case ok && api.Kind != tt.kind:
		t.Errorf("kind %s, want %s: %v", api.Kind, tt.kind, err)
	case ok && api.Kind == model.ErrorTooLong && (api.Used != 213462 || api.Limit != 200000):
		t.Errorf("numbers %d and %d: %v", api.Used, api.Limit, err)
	case ok && strings.Contains(string(api.Body), key):
		t.Error("the key is in the error's body")
	}
}

func request(mdl string) *model.Request {
	return &model.Request{Model: mdl, Messages: []transcript.Message{transcript.User("Say hello.")}}
}

// mistyped sends a stream that claims to be something else.
func mistyped(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { h(retyped{w}, r) }
}

type retyped struct{ http.ResponseWriter }

func (w retyped) Write(b []byte) (int, error) {
	w.Header().Set("Content-Type", "application/octet-stream")
	return w.ResponseWriter.Write(b)
}

func (w retyped) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func retryDate(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status(429, "{}", "Retry-After", time.Now().Add(d).UTC().Format(http.TimeFormat))(w, r)
	}
}

// slow waits before each event.
func slow(d time.Duration, list []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, e := range list {
			time.Sleep(d) // the bubble's time
			events(e)(w, r)
		}
	}
}

// A caller that gives up gets its own error, at once.
func TestGivenUp(t *testing.T) {
	for _, w := range wires {
		for _, tt := range []struct {
			name   string
			answer http.HandlerFunc
		}{
			{"before the answer", hang},
			{"within the answer", then(events(w.stream[:2]...), hang)},
			{"while waiting to ask again", status(429, "{}", "Retry-After", "60")},
		} {
			t.Run(w.name+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					_, hc := start(t, tt.answer)
					ctx, cancel := context.WithCancel(t.Context())
					stop := time.AfterFunc(5*time.Second, cancel)
					defer stop.Stop()
					before := time.Now()
					_, err := w.client("http://model.test", hc, tuning{}).Generate(ctx, request(w.model), nil)
					if !errors.Is(err, context.Canceled) || time.Since(before) != 5*time.Second {
						t.Errorf("got %v after %s", err, time.Since(before))
					}
				})
			})
		}
	}
}

// Where the time is up before the next try could be made, the server's error is worth more
// than a wait in vain.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, hc := start(t, status(429, "{}", "Retry-After", "60"))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		before := time.Now()
		_, err := wires[0].client("http://model.test", hc, tuning{}).Generate(ctx, request("m"), nil)
		var api *model.APIError
		if !errors.As(err, &api) || api.RetryAfter != time.Minute || time.Since(before) != 0 {
			t.Errorf("got %v after %s", err, time.Since(before))
		}
	})
}

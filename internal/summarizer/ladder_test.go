package summarizer_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// The behavioural test: a constraint in turn 2, forty turns of filler, compaction, then a
// request that would break it. Whatever the model's digest says, the constraint is in
// what the model gets next, word for word.
func TestConstraintSurvivesForgetfulModel(t *testing.T) {
	const rule = "We're refactoring billing. Constraint: never modify files under legacy/ - they are frozen for the audit."
	for _, name := range []string{"says nothing of it", "contradicts it"} {
		text := "<digest>\n### State\n- Billing is being refactored.\n" + someFiles + "</digest>"
		if name == "contradicts it" {
			text = "<digest>\n### State\n- Billing is being refactored.\n" + someFiles +
				"- The user agreed that files under legacy/ may be modified.\n</digest>"
		}
		t.Run(name, func(t *testing.T) {
			s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
				Budget: fold.Budget{Window: 12_000}, Model: model.Model{ID: "m", Window: 64_000},
				Digest: digest.Options{Generator: pleattest.Always(text), NoBackground: true},
			})
			pleattest.Append(t, s,
				transcript.User("Hello, we work on billing today."),
				transcript.Assistant(transcript.Say("Fine.")),
				transcript.User(rule),
				transcript.Assistant(transcript.Say("Noted: legacy/ is frozen.")),
			)
			pleattest.Talk(t, s, 0, 40)
			pleattest.View(t, s)
			if s.Snapshot().Epoch == 0 {
				t.Fatal("forty turns and no epoch")
			}
			pleattest.Append(t, s, transcript.User("Quick cleanup: delete the unused helpers in legacy/utils.py?"))
			got := pleattest.Text(pleattest.View(t, s))
			if !strings.Contains(got, rule) {
				t.Error("the constraint is not in the request")
			}
			if !strings.Contains(got, "written by a model") {
				t.Error("the model's digest is not used")
			}
			if !strings.HasSuffix(got, "legacy/utils.py?") && !strings.Contains(got, "legacy/utils.py?") {
				t.Error("the newest words are gone")
			}
		})
	}
}

// someFiles are names of the made-up conversation: a digest without any tells nothing of it.
const someFiles = "- Read: src/file1.go, src/file2.go, src/file3.go.\n"

// Ten digests in a row by a model that paraphrases: what code keeps is still exact.
func TestChainedDigests(t *testing.T) {
	m := &pleattest.Script{Then: func(n int, req *model.Request) (model.Reply, error) {
		return pleattest.Say(
			fmt.Sprintf(
				"<digest>\n### State\n- Some more handlers were looked at, round %d or so.\n"+
					"- Things take their locks early, it seems.\n"+someFiles+"</digest>",
				n%10,
			),
		).Reply, nil
	}}
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 16_000}, Model: model.Model{ID: "m", Window: 64_000},
		Digest: digest.Options{Generator: m, NoBackground: true},
	})
	pleattest.Append(t, s, transcript.User("Goal: move the billing database to port 6543. Never touch legacy/."))
	difftest.Must(t, s.Pin(t.Context(), "checksum 9f86d081884c7d65 of release 4.17.2"))
	pleattest.Append(t, s,
		transcript.Assistant(transcript.Call("w", "write_file",
			`{"path":"conf/billing.toml","content":"port = 6543"}`)),
		transcript.Results(transcript.Result("w", "ok")),
	)
	pleattest.Append(t, s,
		transcript.Assistant(transcript.Call("x", "bash", `{"command":"git push origin billing-port"}`)),
		transcript.Results(transcript.Result("x", "branch billing-port -> billing-port")),
	)
	for i := range 10 {
		pleattest.Talk(t, s, 30*i, 30)
		compact(t, s)
		pleattest.View(t, s)
	}
	got := pleattest.Text(pleattest.View(t, s))
	for _, want := range []string{
		"move the billing database to port 6543", "Never touch legacy/.", "conf/billing.toml",
		"git push origin billing-port", "checksum 9f86d081884c7d65 of release 4.17.2", "written by a model",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("after ten digests the view lacks %q", want)
		}
	}
	r := s.Report()
	if n := len(r.Digests); n < 10 {
		t.Errorf("%d digests", n)
	}
	for i, req := range m.Requests() {
		if text := pleattest.Text(req.Messages); i > 0 &&
			(!strings.Contains(text, "The earlier digest is the base") || !strings.Contains(text, "handlers were looked at")) {
			t.Errorf("request %d does not merge the earlier digest", i)
		}
	}
}

// A merged digest that drops a fact of the earlier one gets it back, in its own words.
func TestMergedDigestKeepsFacts(t *testing.T) {
	m := &pleattest.Script{Steps: []pleattest.Step{
		pleattest.Say(goodDigest),
		pleattest.Say("<digest>\n### State\n- More handlers take their locks early.\n" +
			"- Read: src/file101.go, src/file102.go, src/file103.go.\n</digest>"),
	}}
	var events []pleat.Event
	s := pleattest.Open(t, store.NewMemory(), digestOptions(m, &events))
	pleattest.Digestible(t, s, 24)
	for i := range 2 {
		compact(t, s)
		pleattest.Talk(t, s, 100*(i+1), 24)
	}
	got := pleattest.Text(pleattest.View(t, s))
	if !strings.Contains(got, "Sessions are dropped in src/file3.go because sessionCache evicts after 300 entries.") {
		t.Error("the earlier digest's finding is lost")
	}
	if d := s.Report().Digests; len(d) < 2 || len(d[1].Findings) == 0 || d[1].Findings[0].Kind != digest.FoundCarried {
		t.Errorf("the report does not say that it was put back: %+v", d)
	}
}

// What does not fit the summarizer is read in groups, none of which cuts a round, and
// each goes on from the digest of those before it.
func TestDigestInGroups(t *testing.T) {
	m := pleattest.Always(goodDigest)
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 32_000}, Model: model.Model{ID: "big", Window: 32_000},
		Digest: digest.Options{Generator: m, Model: model.Model{ID: "small", Window: 12_000}, NoBackground: true},
	})
	pleattest.Digestible(t, s, 40)
	compact(t, s)
	reqs := m.Requests()
	if len(reqs) < 3 {
		t.Fatalf("%d requests for a source of several windows", len(reqs))
	}
	counter := tokens.NewTokenizer(model.Model{}, nil)
	for i, r := range reqs {
		text := pleattest.Text(r.Messages)
		if n := counter.CountText(text) + r.MaxTokens; n > 12_000 {
			t.Errorf("request %d has %d tokens with its answer", i, n)
		}
		if i > 0 && !strings.Contains(text, "<earlier_digest ") {
			t.Errorf("request %d does not go on from the one before", i)
		}
		if calls, results := strings.Count(text, "(call)"), strings.Count(text, "(result ["); calls != results {
			t.Errorf("request %d cuts a round: %d calls, %d results", i, calls, results)
		}
		if r.Model != "small" {
			t.Errorf("request %d goes to %q", i, r.Model)
		}
	}
	if d := s.Report().Digests[0]; d.By != "model" || d.Calls != len(reqs) {
		t.Errorf("report = %+v", d)
	}
}

// Forked, the request is the live one's prefix with the instruction at its end, which numbers the user's messages:
// nothing else in it does.
func TestDigestForked(t *testing.T) {
	m := pleattest.Always(goodDigest)
	tools := []model.Tool{{Name: "read_file", Description: "reads", Schema: `{"type":"object"}`}}
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{
			Window: 16_000,
		}, Model: model.Model{ID: "m", Window: 64_000}, System: "You are an agent.", Tools: tools,
		Digest: digest.Options{Generator: m, NoBackground: true},
	})
	pleattest.Digestible(t, s, 24)
	pleattest.View(t, s) // the epoch opens here
	req := m.Requests()[0]
	if req.System != "You are an agent." || len(req.Tools) != 1 || !req.NoTools {
		t.Errorf("not the live request's head: %+v", req)
	}
	if n := len(req.Messages); n < 100 || req.Messages[0].Text() != message(t, s, 0).Text() ||
		req.Messages[n-2].Text() != message(t, s, n-2).Text() {
		t.Errorf("not the live request's messages")
	} else if got := req.Messages[n-1].Text(); !strings.Contains(got, "each with its first words: m1 \"") {
		t.Errorf("the user's messages have no numbers:\n%.3000s", got)
	}
	if d := s.Report().Digests[0]; !d.Forked || d.By != "model" {
		t.Errorf("report = %+v", d)
	}
}

// From yellow on a digest is prepared while the agent works, and at red nobody waits.
func TestDigestInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &pleattest.Script{Then: func(int, *model.Request) (model.Reply, error) {
			time.Sleep(20 * time.Second)
			return pleattest.Say(goodDigest).Reply, nil
		}}
		var events []pleat.Event
		o := digestOptions(m, &events)
		o.Budget.Window = 20_000
		o.Digest.NoBackground = false
		s := pleattest.Open(t, store.NewMemory(), o)
		defer s.Close()
		pleattest.Digestible(t, s, 20)
		if st := s.Snapshot(); st.State != fold.Yellow {
			t.Fatalf("the session is %v: %d of %v", st.State, st.Tokens, st.Limits)
		}
		start := time.Now()
		pleattest.View(t, s)
		// Meanwhile turns go on, and a call gets its result late.
		pleattest.Append(t, s, transcript.Assistant(transcript.Call("late", "bash", `{"command":"sleep 9"}`)),
			transcript.User("Wait, and look at port 9191 too."))
		if d := time.Since(start); d > 0 {
			t.Errorf("the caller waited %v", d)
		}
		synctest.Wait()
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if d := s.Report().Digests; len(d) != 1 || d[0].By != "model" || !d[0].Background {
			t.Fatalf("nothing was prepared: %+v", d)
		}
		if s.Snapshot().Epoch != 0 {
			t.Error("a digest was used before it was needed")
		}
		pleattest.Append(t, s, transcript.Results(transcript.Result("late", "slept well")))
		pleattest.Talk(t, s, 100, 12)
		start = time.Now()
		got := pleattest.Text(pleattest.View(t, s))
		if d := time.Since(start); d > 0 {
			t.Errorf("the caller waited %v at red", d)
		}
		for _, want := range []string{
			"written by a model", "An LRU was chosen over a ring buffer", "look at port 9191 too",
			"Never modify files under legacy/.",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the view lacks %q", want)
			}
		}
		if len(m.Requests()) != 1 {
			t.Errorf("%d requests", len(m.Requests()))
		}
		for _, e := range events {
			if e.Kind == pleat.EventDigest {
				t.Log(e.Digest, e.Fold != nil)
			}
		}
	})
}

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// synthSessions are the made-up sessions as they are, cut, and continued as all others.
func synthSessions() []Session {
	out := SynthSessions(0)
	for i := range out {
		out = append(out, made(i, 7_000*(i+1)))
	}
	return append(out, made(2, 600_000))
}

func TestScaleTokens(t *testing.T) {
	for _, want := range []int{10_000, 28_000, 250_000} {
		for _, s := range SynthSessions(want) {
			w := worker{s: &s, tokens: tokens.NewTokenizer(model.Model{}, nil)}
			if n := w.size(len(s.Messages)); n < want || n > want+12_000 {
				t.Errorf("%s: %d tokens", s.Name, n)
			}
		}
	}
}

// TestLegal holds every session to the rules of the wires.
func TestLegal(t *testing.T) {
	for _, s := range synthSessions() {
		last := s.Messages[len(s.Messages)-1]
		if s.Messages[0].Role() != transcript.RoleUser || last.Role() != transcript.RoleAssistant ||
			len(s.Times) != len(s.Messages) || !slices.IsSortedFunc(s.Times, time.Time.Compare) {
			t.Errorf("%s: from %s to %s, %d times", s.Name, s.Messages[0].Role(), last.Role(), len(s.Times))
		}
		ids := map[string]bool{}
		for _, m := range s.Messages {
			for _, c := range m.Calls() {
				if ids[c.ID] {
					t.Errorf("%s: call id %s comes twice", s.Name, c.ID)
				}
				ids[c.ID] = true
			}
		}
		req := &model.Request{Model: "m", MaxTokens: 1000, Messages: s.Messages}
		wire(t, s.Name, req, anthropic.Encode, anthropic.Decode)
		wire(t, s.Name, req, openai.EncodeChat, openai.DecodeChat)
		wire(t, s.Name, req, openai.EncodeResponses, openai.DecodeResponses)
	}
}

type checker interface {
	Check(model.Model) []transcript.Violation
}

func wire[R checker](
	t *testing.T, name string, req *model.Request, encode func(*model.Request) ([]byte, error),
	decode func([]byte) (R, error),
) {
	t.Helper()
	body, err := encode(req)
	difftest.Must(t, err)
	r, err := decode(body)
	difftest.Must(t, err)
	if bad := r.Check(model.Model{}); len(bad) > 0 {
		t.Errorf("%s, %T: %v", name, r, bad)
	}
}

// TestRules finds the rules of made-up sessions where they say that these are.
func TestRules(t *testing.T) {
	for _, s := range synthSessions() {
		for _, r := range s.rules {
			if !strings.Contains(s.Messages[r.Message].Text(), r.Text) ||
				r.Lifted > 0 && !strings.Contains(s.Messages[r.Lifted].Text(), r.LiftedBy) {
				t.Errorf("%s: there is no rule %+v", s.Name, r)
			}
		}
		if len(s.rules) == 0 {
			t.Errorf("%s has no rules", s.Name)
		}
	}
}

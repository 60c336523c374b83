package synth_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/bench/synth"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// sessions are the sessions as they are, cut, and continued as all others.
func sessions(t *testing.T) map[string]synth.Session {
	t.Helper()
	out := map[string]synth.Session{}
	for i, s := range synth.Sessions() {
		out[s.Kind] = s
		out[s.Kind+" cut"] = synth.Scale(i, 7_000*(i+1))
	}
	out["continued"] = synth.Scale(2, 600_000)
	return out
}

func TestScaleTokens(t *testing.T) {
	for _, tokens := range []int{10_000, 28_000, 250_000} {
		for i := range synth.Sessions() {
			n := size(synth.Scale(i, tokens))
			if n < tokens || n > tokens+12_000 {
				t.Errorf("session %d: %d tokens, want %d", i, n, tokens)
			}
		}
	}
}

// TestLegal holds every session to the rules of the wires.
func TestLegal(t *testing.T) {
	for name, s := range sessions(t) {
		last := s.Messages[len(s.Messages)-1]
		if s.Messages[0].Role() != transcript.RoleUser || last.Role() != transcript.RoleAssistant ||
			len(s.Times) != len(s.Messages) || !slices.IsSortedFunc(s.Times, time.Time.Compare) {
			t.Errorf("%s: from %s to %s, %d times", name, s.Messages[0].Role(), last.Role(), len(s.Times))
		}
		ids := map[string]bool{}
		for _, m := range s.Messages {
			for _, c := range m.Calls() {
				if ids[c.ID] {
					t.Errorf("%s: call id %s comes twice", name, c.ID)
				}
				ids[c.ID] = true
			}
		}
		req := &model.Request{Model: "m", MaxTokens: 1000, Messages: s.Messages}
		wire(t, name, req, anthropic.Encode, anthropic.Decode)
		wire(t, name, req, openai.EncodeChat, openai.DecodeChat)
		wire(t, name, req, openai.EncodeResponses, openai.DecodeResponses)
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

// said is everything that a message says: texts, what its calls hold, unescaped, and results.
func said(m transcript.Message) string {
	var b strings.Builder
	for _, blk := range m.Blocks().All() {
		c, ok := blk.(transcript.ToolCall)
		if !ok {
			fmt.Fprintln(&b, transcript.BlockText(blk))
			continue
		}
		dec := json.NewDecoder(strings.NewReader(c.Input.String()))
		for tok, err := dec.Token(); err == nil; tok, err = dec.Token() {
			fmt.Fprintln(&b, tok)
		}
	}
	return b.String()
}

// TestTruth finds in the messages what the truth says of them.
func TestTruth(t *testing.T) {
	for name, s := range sessions(t) {
		texts := make([]string, len(s.Messages))
		for i, m := range s.Messages {
			texts[i] = said(m)
		}
		holds := func(i int, text string) {
			if !strings.Contains(texts[i], text) {
				t.Errorf("%s: message %d does not hold %q", name, i, text)
			}
		}
		for _, e := range s.Truth.Files {
			file := path.Base(e.Path)
			if e.State == "deleted" && !strings.Contains(texts[e.Message-1], file) {
				file = path.Base(path.Dir(e.Path)) // deleted as a whole
			}
			holds(e.Message-1, file)
		}
		for _, e := range s.Truth.Runs {
			holds(e.Message-1, e.Command)
			holds(e.Message, e.Line)
		}
		for _, e := range s.Truth.Said {
			holds(e.Message, e.Text)
		}
		for _, e := range s.Truth.Rules {
			holds(e.Message, e.Text)
			holds(e.Lifted, e.LiftedBy)
		}
		for _, e := range s.Truth.Plans {
			for _, it := range e.Items {
				holds(e.Message, it.Text)
			}
		}
		for _, e := range s.Truth.Literals {
			holds(e.Message, e.Line)
			var want []int
			for i, text := range texts {
				if hasWord(text, e.Text) {
					want = append(want, i)
				}
			}
			got := slices.Sorted(slices.Values(slices.Concat([]int{e.Message}, e.Shown, e.Uses)))
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q: truth says %v, found in %v", name, e.Text, got, want)
			}
			for _, i := range e.Uses {
				if s.Messages[i].Role() != transcript.RoleAssistant {
					t.Errorf("%s: %q: use %d is no message of the assistant", name, e.Text, i)
				}
			}
		}
		if len(s.Truth.Files) == 0 || len(s.Truth.Runs) == 0 || len(s.Truth.Rules) == 0 || len(s.Truth.Literals) < 10 {
			t.Errorf("%s: the truth says too little: %+v", name, s.Truth)
		}
	}
}

// hasWord reports whether a text holds another with no letter or digit beside it.
func hasWord(text, word string) bool {
	for {
		before, after, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		if (before == "" || !inName(before[len(before)-1])) && (after == "" || !inName(after[0])) {
			return true
		}
		text = text[len(before)+1:]
	}
}

func inName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func size(s synth.Session) int {
	n, count := 0, tokens.NewTokenizer(model.Model{}, nil)
	for _, m := range s.Messages {
		n += count.CountMessage(m)
	}
	return n
}

package pleat_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// TestAlwaysLegal plays conversations as clients arrange them, for every model of the
// table, on every wire: system messages in all the places where a provider takes them, text
// beside results, several messages of the user in a row, requests that got no answer. There
// is always a view, it is legal, and it fits.
func TestAlwaysLegal(t *testing.T) {
	checks := map[transcript.Format]func(model.Model) func(transcript.View, *transcript.Transcript) error{
		transcript.FormatAnthropic: anthropic.Checker,
		transcript.FormatChat:      openai.ChatChecker,
		transcript.FormatResponses: openai.ResponsesChecker,
		transcript.FormatGemini:    gemini.Checker,
	}
	models := slices.Collect(model.DefaultModels().All())
	seeds := 4 * len(models)
	if testing.Short() {
		seeds = len(models)
	}
	for _, w := range wireFormats() {
		t.Run(string(w.format), func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				m := models[seed%len(models)]
				manual := w.format == transcript.FormatAnthropic && !m.Accepts.SystemMessages && seed/len(models)%2 == 1
				m.Thinking.First = manual
				w.check = checks[w.format](m)
				legalCase(t, w, m, uint64(seed))
			}
		})
	}
}

func legalCase(t *testing.T, w wireFormat, m model.Model, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0x1e9a1))
	msgs := arranged(r, w.format != transcript.FormatAnthropic || m.Accepts.SystemMessages, m.Thinking.First, seed)
	pol := policy.Default()
	if all := policy.All(); seed%3 == 2 {
		pol = all[int(seed)%len(all)]
	}
	window := 4_000 + r.IntN(6_000)
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: window}, Policy: pol, Model: m, Tokens: counter,
		Codecs: map[transcript.Format]transcript.Codec{w.format: w.codec}, Check: w.check,
	})
	name := fmt.Sprintf("seed %d, model %s, policy %s", seed, m.ID, pol.Name)
	var ends []int
	for end := 1; end <= len(msgs); end++ {
		last := msgs[end-1].Role() == transcript.RoleAssistant
		if !last && (end == len(msgs) || msgs[end].Role() == transcript.RoleAssistant || r.IntN(3) == 0) {
			ends = append(ends, end)
		}
	}
	play(t, name, w, m, s, msgs, ends, func(wireRequest) {})
}

// shape lists who speaks in a request.
func shape(msgs []transcript.Message) string {
	var b strings.Builder
	for i, m := range msgs {
		fmt.Fprintf(&b, "%d %s:", i, m.Role())
		for _, blk := range m.Blocks().All() {
			fmt.Fprintf(&b, " %s", blk.Kind())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// arranged is a random conversation with what clients put between and beside its messages.
func arranged(r *rand.Rand, system, manual bool, seed uint64) []transcript.Message {
	var out []transcript.Message
	note := transcript.NewMessage(
		transcript.RoleSystem, transcript.Say(strings.Repeat("Mind the rules of this place. ", 1+r.IntN(20))),
	)
	opens := false // the next answer begins a turn
	for _, m := range (pleattest.Transcripts{Legal: true, NoThink: !manual && seed%2 == 0}).Make(seed) {
		blocks := slices.Collect(func(yield func(transcript.Block) bool) {
			for _, b := range m.Blocks().All() {
				if !yield(b) {
					return
				}
			}
		})
		if m.Role() == transcript.RoleAssistant {
			for system && out[len(out)-1].Role() != transcript.RoleAssistant && r.IntN(3) == 0 {
				out = append(out, note)
			}
			if manual && opens && blocks[0].Kind() != transcript.KindThinking {
				blocks = slices.Insert(
					blocks,
					0,
					transcript.Block(transcript.Thinking{Text: transcript.Plain("Let me see."), Signature: "c2ln"}),
				)
			}
			opens = false
			out = append(out, transcript.NewMessage(m.Role(), blocks...))
			continue
		}
		opens = opens || m.Role() == transcript.RoleUser && blocks[0].Kind() == transcript.KindText
		if r.IntN(4) == 0 {
			blocks = append(blocks, transcript.Say("By the way, the port is 8081."))
		}
		out = append(out, transcript.NewMessage(m.Role(), blocks...))
		if r.IntN(6) == 0 {
			out = append(out, transcript.User("And one more thing."))
		}
	}
	return out
}

// A view that the wire refuses is planned again with less and less of what may be wrong with
// it, so that there is always one. Observers are told whose folds were refused, and why.
func TestBarred(t *testing.T) {
	stubs := func(v transcript.View) (made, edited int) {
		for _, m := range v.Messages {
			if m.Source < 0 {
				made++
			}
			edited += len(m.Edits)
		}
		return made, edited
	}
	var most int // messages of pleat's own that the wire takes
	var warnings []string
	s := open(t, store.NewMemory(), &pleat.Options{
		Budget: fold.Budget{Window: 8_000}, Tokens: counter,
		Check: func(v transcript.View, _ *transcript.Transcript) error {
			if made, _ := stubs(v); made > most {
				return fmt.Errorf("%d messages are made up: %w", made, transcript.ErrIllegal)
			}
			return nil
		},
		Observe: func(_ context.Context, _ pleat.Key, e pleat.Event) {
			if e.Kind == pleat.EventWarning {
				warnings = append(warnings, e.Warning)
			}
		},
	})
	for i, allowed := range []int{1, 0} {
		most = allowed
		work(t, s, 20*i, 20, 2_000)
		v, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		if made, edited := stubs(v); made > allowed || made+edited == 0 {
			t.Errorf("the view has %d messages of pleat's own and %d edits; %d messages are allowed", made,
				edited, allowed)
		}
	}
	if got := strings.Join(warnings, "\n"); !strings.Contains(got, "digest") || !strings.Contains(got, "made up") {
		t.Errorf("the warnings are:\n%s", got)
	}
}

// A call with a signature is not folded by itself, however large it is: the signature is for the
// arguments. It goes with its round, also where rounds collapse.
func TestSignedCalls(t *testing.T) {
	for _, large := range []bool{true, false} {
		s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Budget: fold.Budget{Window: 4_000}, Tokens: counter})
		mustAppend(t, s, transcript.User("start"))
		var collapsed bool
		for i := range 14 {
			call := transcript.Call(fmt.Sprint("c", i), "read_file", fmt.Sprintf(`{"file_path":"/w/%d.go"}`, i))
			if large {
				content := strings.Repeat(fmt.Sprintf("line %d of a long file. ", i), 400)
				call = transcript.Call(call.ID, "write_file", `{"file_path":"/w/a.go","content":"`+content+`"}`)
			}
			call.Signed = true
			mustAppend(t, s, transcript.Assistant(call))
			mustAppend(t, s, transcript.Results(transcript.Result(call.ID, strings.Repeat("ok. ", 100))))
			v, err := s.View(t.Context(), pleat.Turn{})
			must(t, err)
			for _, m := range v.Messages {
				if m.Source%2 == 1 && len(m.Edits) > 0 {
					t.Fatalf("message %d is shown with %v", m.Source+1, m.Edits)
				}
			}
			for _, f := range s.Folds() {
				collapsed = collapsed || f.Lever == "collapse"
			}
		}
		if !large && !collapsed {
			t.Error("no rounds were collapsed")
		}
	}
}

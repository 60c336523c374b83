package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/journal"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// kinds are those of entries that were written together, in short.
func kinds(list []store.Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

// TestSpill: a result that is folded at birth is written with its fold, by itself; if that fails, neither is there.
func TestSpill(t *testing.T) {
	var writes []string
	broken := errors.New("broken")
	fails := false
	st := &hooked{Memory: store.NewMemory(), before: func(e []store.Entry) error {
		if writes = append(writes, kinds(e)); fails && len(e) > 1 && e[1].Kind == store.EntryFold {
			return broken
		}
		return nil
	}}
	o := open(t, st)
	birth, folded := o.spill(1_000), 0
	birth.Folded = func(context.Context, *fold.Fold) { folded++ }
	note := store.Entry{Kind: store.EntryNote, Data: []byte(`{"key":"k","text":"v"}`)}
	msgs := slices.Concat(round("a", "short"), round("b", strings.Repeat("long ", 500)), round("c", "short"))
	n, err := o.Append(t.Context(), birth, []store.Entry{note}, msgs, note)
	want := []string{"note message message message", "message fold message message note"}
	d := difftest.Values(want, writes)
	if d != "" || n != len(msgs) || err != nil || folded != 1 || len(o.st.InForce()) != 1 {
		t.Errorf("%d added, %d folded, %v: writes (-want +got)\n%s", n, folded, err, d)
	}
	fails = true
	n, err = o.Append(t.Context(), birth, nil, round("d", strings.Repeat("long ", 500)))
	if n != 1 || !errors.Is(err, broken) || o.st.Len() != 7 || len(o.st.InForce()) != 1 || folded != 1 {
		t.Errorf("%d added with %v: %d messages, %d folded", n, err, o.st.Len(), folded)
	}
	same(t, o, st)
}

// TestBirthKnows: what is folded at birth is decided on when all before it is taken in, and by the size of the
// results before it.
func TestBirthKnows(t *testing.T) {
	o := open(t, store.NewMemory())
	var sizes []int
	birth := journal.Birth{
		May: func(_ context.Context, m transcript.Message, bytes func(int) int) bool {
			if m.Blocks().Has(transcript.KindToolResult) {
				sizes = append(sizes, bytes(0))
			}
			return len(sizes) == 3
		},
		Fold: func(_ context.Context, m transcript.Message) ([]*fold.Fold, error) {
			return nil, fmt.Errorf("there are %d messages", o.st.Len())
		},
	}
	var calls []transcript.Block
	msgs := make([]transcript.Message, 1)
	for _, id := range []string{"a", "b", "c"} {
		calls = append(calls, transcript.Call(id, "ls", `{}`))
		msgs = append(msgs, transcript.Results(transcript.Result(id, strings.Repeat("x", 1_000))))
	}
	msgs[0] = transcript.Assistant(calls...)
	n, err := o.Append(t.Context(), birth, nil, msgs)
	if n != 3 || err == nil || err.Error() != "there are 3 messages" ||
		sizes[0] != 1_000 || sizes[1] < 2_000 || sizes[2] < 3_000 {
		t.Errorf("%d added, %v; results of %v bytes", n, err, sizes)
	}
}

// TestBatches: many bytes are written in pieces, and what came before an error is there.
func TestBatches(t *testing.T) {
	var writes []int
	broken := errors.New("broken")
	st := &hooked{Memory: store.NewMemory()}
	st.before = func(e []store.Entry) error {
		if writes = append(writes, len(e)); len(writes) == 3 {
			return broken
		}
		return nil
	}
	large := transcript.Opaque{Type: "x", Raw: `{"type":"x","data":"` + strings.Repeat("x", 1<<20) + `"}`}
	msgs := slices.Repeat([]transcript.Message{transcript.NewMessage(transcript.RoleUser, large)}, 30)
	o := open(t, st)
	n, err := o.Append(t.Context(), o.spill(0), nil, msgs)
	if n != writes[0]+writes[1] || n != o.st.Len() || writes[0] < 6 || writes[0] > 12 || !errors.Is(err, broken) {
		t.Errorf("%d added in %v, %v", n, writes, err)
	}
	same(t, o, st)
}

// TestAppendTogether: messages that are appended together are the same entries as messages appended one by one.
func TestAppendTogether(t *testing.T) {
	folds := 0
	for seed := range uint64(20) {
		msgs := pleattest.Transcripts{Turns: 20, Huge: 60_000}.Make(seed)
		one, all := store.NewMemory(), store.NewMemory()
		a, b := open(t, one), open(t, all)
		for _, m := range msgs {
			_, err := a.Append(t.Context(), a.spill(4_000), nil, []transcript.Message{m})
			must(t, err)
		}
		_, err := b.Append(t.Context(), b.spill(4_000), nil, msgs)
		must(t, err)
		if d := difftest.Values(entries(t, one, key), entries(t, all, key)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		folds += len(a.st.Folds)
	}
	if folds < 20 {
		t.Errorf("only %d results are folded at birth", folds)
	}
}

// TestCancelledInRound: a context that ends between the writes of a call and of its large result leaves no call
// without a result.
func TestCancelledInRound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st := &hooked{Memory: store.NewMemory()}
	o := open(t, st)
	o.append(t, transcript.User("Read it."))
	st.wrote = cancel
	msgs := append(round("x", strings.Repeat("line of text\n", 3_000)), transcript.User("And the other one."))
	n, err := o.Append(ctx, o.spill(1_000), nil, msgs)
	if n != 3 || err != nil || ctx.Err() == nil || len(o.st.InForce()) != 1 {
		t.Errorf("%d added, %v, the context: %v", n, err, ctx.Err())
	}
	same(t, o, st)
	if n, err := o.Append(ctx, o.spill(0), nil, msgs[2:]); n != 0 || err == nil {
		t.Error("a message is written although the context has ended before")
	}
}

// TestCodecs: a wire message that its codec cannot give back is stored in the neutral form, with its bytes: one odd
// message must not lock a session up for good, nor lose a word.
func TestCodecs(t *testing.T) {
	const raw = `{"role":"user","content":"Never touch legacy/."}`
	long := `{"role":"user","content":"` + strings.Repeat("x", 50_000) + `"}`
	for name, codec := range map[string]transcript.Codec{
		"none":  nil,
		"fails": func([]byte) (transcript.Message, error) { return transcript.Message{}, errors.New("odd") },
		"loses": func(raw []byte) (transcript.Message, error) {
			return transcript.WireMessage(transcript.RoleUser, "mine", string(raw), transcript.Say("Never touch")), nil
		},
		"gives another block": func(raw []byte) (transcript.Message, error) {
			call := transcript.Call("a", "Never touch legacy/.", "{}")
			return transcript.WireMessage(transcript.RoleUser, "mine", string(raw), call), nil
		},
	} {
		st, codecs := store.NewMemory(), map[transcript.Format]transcript.Codec{}
		if codec != nil {
			codecs["mine"] = codec
		}
		o := openKey(st, key, codecs)
		m := transcript.WireMessage(transcript.RoleUser, "mine", raw, transcript.Say("Never touch legacy/."))
		o.append(t, m, m)
		again := openKey(st, key, codecs)
		must(t, again.Refresh(t.Context()))
		for _, o := range []*opened{o, again} {
			if got, err := o.st.Message(t.Context(), 1); err != nil || got.Text() != m.Text() || got.Raw() != raw {
				t.Errorf("%s: got back %q, %s: %v", name, got.Text(), got.Raw(), err)
			}
		}
	}
	// Many messages are read back at once, where nobody above could recover.
	o := openKey(store.NewMemory(), key, map[transcript.Format]transcript.Codec{
		"mine": func([]byte) (transcript.Message, error) { panic("oops") },
	})
	m := transcript.WireMessage(transcript.RoleUser, "mine", long, transcript.Say("x"))
	if _, err := o.Append(t.Context(), o.spill(0), nil, slices.Repeat([]transcript.Message{m}, 4)); err == nil ||
		!strings.Contains(err.Error(), "panicked: oops") || o.st.Len() > 0 {
		t.Errorf("got %v", err)
	}
}

// TestWireBlocks: blocks of each kind come off a wire and back as they were.
func TestWireBlocks(t *testing.T) {
	for _, raw := range []string{
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm\u00e9","signature":"s"},` +
			`{"type":"text","text":"a"},{"type":"tool_use","id":"a","name":"ls","input":{"a": 1}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":` +
			`[{"type":"text","text":"x"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},{"type":"odd","x":1}]}`,
	} {
		m, err := codecs[transcript.FormatAnthropic]([]byte(raw))
		must(t, err)
		st := store.NewMemory()
		open(t, st).append(t, m)
		got, err := open(t, st).st.Message(t.Context(), 0)
		if err != nil || got.Raw() != raw || got.Blocks().Len() != m.Blocks().Len() ||
			!strings.Contains(string(entries(t, st, key)[0].Data), `"form":"wire"`) {
			t.Errorf("got back %s: %v", got.Raw(), err)
		}
	}
}

// TestCheck refuses messages that cannot be kept, and keeps those before them.
func TestCheck(t *testing.T) {
	type own struct{ transcript.Text }
	for _, tt := range []struct {
		m    transcript.Message
		want string // empty: it can be kept
	}{
		{transcript.User(" \n"), "the user says nothing"},
		{transcript.NewMessage("", transcript.Say("x")), "it has no role; system, developer"},
		{transcript.NewMessage("model", transcript.Say("x")), `it has the role "model"`},
		{transcript.NewMessage(transcript.RoleUser, transcript.Say("x"), nil), "block 1: it is nil"},
		{transcript.NewMessage(transcript.RoleUser, own{}), "own is no block of package transcript"},
		{transcript.Results(transcript.ToolResult{CallID: "a", Parts: transcript.BlocksOf(own{})}), "block 0: block 0: "},
		{transcript.Assistant(), ""},
		{transcript.WireMessage("odd", transcript.FormatChat, `{"role":"odd"}`), ""},
		{transcript.WireMessage(transcript.RoleUser, transcript.FormatChat, `{"role":"user"}`), ""},
	} {
		o := open(t, store.NewMemory())
		n, err := o.Append(t.Context(), o.spill(0), nil, []transcript.Message{transcript.User("Go."), tt.m})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || n != 1) {
			t.Errorf("%v: %d added, %v; want %q", tt.m, n, err, tt.want)
		}
	}
}

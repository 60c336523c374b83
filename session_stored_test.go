package pleat_test

import (
	"context"
	"testing"

	"github.com/pleat-dev/pleat/internal/journal"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// entryRecorder keeps the entries that a session appends.
type entryRecorder struct {
	store.Store
	entries []store.Entry
}

func (r *entryRecorder) Append(
	ctx context.Context,
	key store.SessionKey,
	last uint64,
	entries ...store.Entry,
) (uint64, error) {
	r.entries = append(r.entries, entries...)
	return r.Store.Append(ctx, key, last, entries...)
}

// What an entry is found by can be told from the entry alone, so that a session can be
// copied from one store to another with nothing lost.
func TestStoredText(t *testing.T) {
	codecs := map[transcript.Format]transcript.Codec{transcript.FormatAnthropic: anthropic.DecodeMessage}
	r := &entryRecorder{Store: store.NewMemory()}
	s := openKey(t, r, store.SessionKey{Session: "s"}, &pleat.Options{Codecs: codecs})
	req, err := anthropic.Decode(
		[]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"on the wire"}]}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	msgs := []transcript.Message{
		req.Messages[0],
		transcript.Assistant(transcript.Say("I look."), transcript.Call("c1", "read", `{"path":"a"}`)),
		transcript.Results(transcript.Result("c1", "not \xff UTF-8\n")),
		transcript.User("injected").WithOrigin(transcript.OriginInjected),
	}
	mustAppend(t, s, msgs...)
	must(t, s.Note(t.Context(), "k", "v"))
	asJSON := func(m transcript.Message) string { b, _ := m.MarshalJSON(); return string(b) }
	var want, got []string
	for _, m := range msgs {
		want = append(want, asJSON(m))
	}
	for _, e := range r.entries {
		text, err := journal.Text(e, codecs)
		if err != nil || text != e.Text {
			t.Errorf("%s: text %q, %v; it was stored with %q", e.Kind, text, err, e.Text)
		}
		m, err := journal.Message(e, codecs)
		if (err == nil) != (e.Kind == store.EntryMessage) {
			t.Errorf("%s: %v", e.Kind, err)
		}
		if err == nil {
			got = append(got, asJSON(m))
		}
	}
	if d := difftest.Values(want, got); d != "" {
		t.Errorf("stored messages (-want +got):\n%s", d)
	}
	if _, err := journal.Text(r.entries[1], nil); err == nil {
		t.Error("a wire message was read without a codec")
	}
}

// TestCodecLosesBytes: a codec that does not give back what a message has is not relied on.
func TestCodecLosesBytes(t *testing.T) {
	const raw = `{"role":"user","content":"Never touch legacy/."}`
	codecs := map[transcript.Format]transcript.Codec{"mine": func(raw []byte) (transcript.Message, error) {
		return transcript.WireMessage(transcript.RoleUser, "mine", string(raw), transcript.Say("Never touch")), nil
	}}
	o, st := &pleat.Options{Codecs: codecs}, store.NewMemory()
	s := open(t, st, o)
	m := transcript.WireMessage(transcript.RoleUser, "mine", raw, transcript.Say("Never touch legacy/."))
	mustAppend(t, s, m)
	for _, s := range []*pleat.Session{s, open(t, st, o)} {
		if got := message(t, s, 0); got.Text() != m.Text() || got.Raw() != raw {
			t.Errorf("got back %q, %s", got.Text(), got.Raw())
		}
	}
}

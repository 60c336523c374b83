package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Request is a decoded request of a wire.
type Request interface {
	Splice(v transcript.View, tools ...model.Tool) ([]byte, error)
}

// Wire is how a wire reads and writes, for the properties that bind every wire. What a
// decoder refuses is its error; R is a pointer to the wire's request.
type Wire[R Request] struct {
	Decode   func(body []byte) (R, error)
	After    func(earlier R, body []byte) (R, error)
	Parts    func(R) (*wire.Body, []transcript.Message)
	Encode   func(transcript.Message) ([]byte, error)
	Generate func(seed uint64) (rng *rand.Rand, body func() []byte)
	// Edited judges a block that was edited, besides what binds every wire; nil: nothing more.
	Edited func(was, is transcript.Block, content jsonspan.Span) error
}

// TestLossless decodes generated bodies and encodes them again: as they are, and with
// random edits, which may change nothing but the spans they name.
func (w *Wire[R]) TestLossless(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		rng, generate := w.Generate(seed)
		body := generate()
		if err := w.Lossless(body, rng); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, body)
		}
	}
}

// Lossless is the property: decode, then encode the whole view and an edited one.
func (w *Wire[R]) Lossless(body []byte, rng *rand.Rand) error {
	original := bytes.Clone(body)
	r, err := w.Decode(body)
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	b, msgs := w.Parts(r)
	same, err := r.Splice(transcript.Whole(len(msgs)))
	if err != nil || !bytes.Equal(same, original) {
		return fmt.Errorf("whole view is not the body (%v)", err)
	}
	view := RandomView(b, rng)
	out, err := r.Splice(view)
	if err != nil {
		return fmt.Errorf("splice: %w", err)
	}
	if !bytes.Equal(b.Data, original) {
		return errors.New("splice changed the original")
	}
	if err := w.sameOutside(r, view, out); err != nil {
		return fmt.Errorf("%w\nbecame\n%s", err, out)
	}
	return nil
}

// RandomView edits, drops and inserts what may be.
func RandomView(b *wire.Body, rng *rand.Rand) transcript.View {
	var v transcript.View
	for i, e := range b.Elements {
		if rng.IntN(8) == 0 {
			v.Messages = append(v.Messages,
				transcript.ViewMessage{Source: -1, Made: transcript.User("made \"by\" pleat\n")})
		}
		if rng.IntN(10) == 0 {
			continue
		}
		vm := transcript.ViewMessage{Source: i}
		left := len(e.Places)
		for j, p := range e.Places {
			switch {
			case p.Fixed:
			case rng.IntN(5) == 0 && left > 1 && !p.Whole.IsZero():
				left--
				vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: j, Drop: true})
			case rng.IntN(3) == 0 && !p.Content.IsZero():
				text := "stub \"é\" \\ \n"
				if p.JSON {
					text = `{"folded": true}`
				}
				vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: j, Text: text})
			}
		}
		v.Messages = append(v.Messages, vm)
	}
	return v
}

// sameOutside checks the result of a splice against the view: it decodes to the
// expected messages, and all the bytes around and between the edits are the old ones.
func (w *Wire[R]) sameOutside(r R, v transcript.View, out []byte) error {
	again, err := w.Decode(out)
	if err != nil {
		return fmt.Errorf("result does not decode: %w", err)
	}
	b, msgs := w.Parts(r)
	got, messages := w.Parts(again)
	if len(messages) != len(v.Messages) {
		return fmt.Errorf("result has %d messages, want %d", len(messages), len(v.Messages))
	}
	if v.IsWhole(len(msgs)) {
		return nil
	}
	if !bytes.Equal(b.Data[:b.Array.Start], out[:got.Array.Start]) ||
		!bytes.Equal(b.Data[b.Array.End:], out[got.Array.End:]) {
		return errors.New("bytes around the messages changed")
	}
	for i, vm := range v.Messages {
		if vm.Source < 0 {
			want, _ := w.Encode(vm.Made)
			if messages[i].Raw() != string(want) {
				return fmt.Errorf("message %d is %s, want %s", i, messages[i].Raw(), want)
			}
			continue
		}
		was, is := element{b, vm.Source, msgs[vm.Source]}, element{got, i, messages[i]}
		if err := w.sameElement(was, is, vm.Edits); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// element is one message of a body.
type element struct {
	body *wire.Body
	at   int
	transcript.Message
}

// sameElement checks one message: each block that the view keeps is there, byte for
// byte outside of what was replaced.
func (w *Wire[R]) sameElement(was, is element, list []transcript.BlockEdit) error {
	if len(list) == 0 {
		if is.Raw() != was.Raw() {
			return errors.New("untouched message changed")
		}
		return nil
	}
	edits := make(map[int]transcript.BlockEdit)
	for _, e := range list {
		edits[e.Block] = e
	}
	from, to := was.body.Elements[was.at], is.body.Elements[is.at]
	next := 0
	for j, p := range from.Places {
		e, edited := edits[j]
		if edited && e.Drop {
			continue
		}
		if next >= len(to.Places) {
			return fmt.Errorf("block %d is gone", j)
		}
		old, made := p.Whole.Move(from.Span.Start), to.Places[next].Whole.Move(to.Span.Start)
		if old.IsZero() {
			old, made = from.Span, to.Span
		}
		whole, block := made.Of(is.body.Data), is.Blocks().At(next)
		next++
		if !edited {
			if !bytes.Equal(old.Of(was.body.Data), whole) {
				return fmt.Errorf("untouched block %d changed", j)
			}
			continue
		}
		content := p.Content.Move(from.Span.Start)
		if !bytes.HasPrefix(whole, was.body.Data[old.Start:content.Start]) ||
			!bytes.HasSuffix(whole, was.body.Data[content.End:old.End]) {
			return fmt.Errorf("block %d changed outside of its content", j)
		}
		if text := transcript.BlockText(block); text != e.Text {
			return fmt.Errorf("block %d says %q, want %q", j, text, e.Text)
		}
		if w.Edited != nil {
			if err := w.Edited(was.Blocks().At(j), block, p.Content); err != nil {
				return fmt.Errorf("block %d: %w", j, err)
			}
		}
	}
	if next != len(to.Places) {
		return errors.New("there are more blocks than before")
	}
	return nil
}

// FuzzSplice: random edits of any body change only what they name.
func (w *Wire[R]) FuzzSplice(f *testing.F) {
	for seed := range uint64(20) {
		_, body := w.Generate(seed)
		f.Add(body(), seed)
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		if _, err := w.Decode(body); err != nil {
			return
		}
		if err := w.Lossless(body, rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAfter decodes bodies after other ones: each is decoded as by itself, whatever the
// other held, and what both hold is taken from the other.
func (w *Wire[R]) TestAfter(t *testing.T) {
	reused := 0
	for seed := range uint64(300) {
		rng, generate := w.Generate(seed)
		body := generate()
		want, err := w.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := w.Parts(want)
		changed, err := want.Splice(RandomView(b, rng))
		if err != nil {
			changed = body
		}
		replaced := bytes.ReplaceAll(body, []byte("text"), []byte("test"))
		replaced = bytes.ReplaceAll(replaced, []byte("cache_control"), []byte("cache_comment"))
		for _, before := range [][]byte{body, changed, generate(), replaced} {
			earlier, err := w.Decode(before)
			if err != nil {
				continue
			}
			got, err := w.After(earlier, body)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: decoded after\n%s\nthis is another request:\n%s", seed, before, body)
			}
			gotBody, _ := w.Parts(got)
			earlierBody, _ := w.Parts(earlier)
			for i := range min(len(gotBody.Elements), len(earlierBody.Elements)) {
				p, q := gotBody.Elements[i].Places, earlierBody.Elements[i].Places
				if len(p) > 0 && len(q) > 0 && &p[0] == &q[0] {
					reused++
				}
			}
		}
	}
	if reused < 1000 {
		t.Errorf("%d messages were taken from an earlier request", reused)
	}
}

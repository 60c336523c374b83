package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// TestLossless decodes generated bodies and encodes them again: as they are, and with
// random edits, which may change nothing but the spans they name.
func TestLossless(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	for seed := range uint64(rounds) {
		g := newGen(seed)
		body := g.body()
		if err := checkLossless(body, g.Rand); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, body)
		}
	}
}

// checkLossless is the property: decode, then encode the whole view and an edited one.
func checkLossless(body []byte, rng *rand.Rand) error {
	original := bytes.Clone(body)
	r, err := Decode(body)
	if err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	same, err := r.Splice(transcript.Whole(len(r.Messages)))
	if err != nil || !bytes.Equal(same, original) {
		return fmt.Errorf("whole view is not the body (%v)", err)
	}
	view := randomView(r, rng)
	out, err := r.Splice(view)
	if err != nil {
		return fmt.Errorf("splice: %w", err)
	}
	if !bytes.Equal(r.Body(), original) {
		return errors.New("splice changed the original")
	}
	if err := sameOutside(r, view, out); err != nil {
		return fmt.Errorf("%w\nbecame\n%s", err, out)
	}
	return nil
}

// randomView edits, drops and inserts what may be.
func randomView(r *Request, rng *rand.Rand) transcript.View {
	var v transcript.View
	for i := range r.Messages {
		if rng.IntN(8) == 0 {
			v.Messages = append(v.Messages,
				transcript.ViewMessage{Source: -1, Made: transcript.User("made \"by\" pleat\n")})
		}
		if rng.IntN(10) == 0 {
			continue
		}
		vm := transcript.ViewMessage{Source: i}
		places, left := r.body.Elements[i].Places, len(r.body.Elements[i].Places)
		for j, p := range places {
			switch {
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
func sameOutside(r *Request, v transcript.View, out []byte) error {
	got, err := Decode(out)
	if err != nil {
		return fmt.Errorf("result does not decode: %w", err)
	}
	if len(got.Messages) != len(v.Messages) {
		return fmt.Errorf("result has %d messages, want %d", len(got.Messages), len(v.Messages))
	}
	if v.IsWhole(len(r.Messages)) {
		return nil
	}
	oldArray, newArray := r.body.Array, got.body.Array
	if !bytes.Equal(r.Body()[:oldArray.Start], out[:newArray.Start]) ||
		!bytes.Equal(r.Body()[oldArray.End:], out[newArray.End:]) {
		return errors.New("bytes around the messages changed")
	}
	for i, vm := range v.Messages {
		if vm.Source < 0 {
			want, _ := EncodeMessage(vm.Made)
			if got.Messages[i].Raw() != string(want) {
				return fmt.Errorf("message %d is %s, want %s", i, got.Messages[i].Raw(), want)
			}
			continue
		}
		if err := sameElement(r, got, vm, i); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// sameElement checks one message: each block that the view keeps is there, byte for
// byte outside of what was replaced.
func sameElement(r, got *Request, vm transcript.ViewMessage, at int) error {
	if len(vm.Edits) == 0 {
		if got.Messages[at].Raw() != r.Messages[vm.Source].Raw() {
			return errors.New("untouched message changed")
		}
		return nil
	}
	edits := make(map[int]transcript.BlockEdit)
	for _, e := range vm.Edits {
		edits[e.Block] = e
	}
	next := 0
	for j, p := range r.body.Elements[vm.Source].Places {
		e, edited := edits[j]
		if edited && e.Drop {
			continue
		}
		if next >= len(got.body.Elements[at].Places) {
			return fmt.Errorf("block %d is gone", j)
		}
		q, from, to := got.body.Elements[at].Places[next], r.body.Elements[vm.Source].Span, got.body.Elements[at].Span
		next++
		oldWhole, newWhole, content := p.Whole.Move(from.Start), q.Whole.Move(to.Start), p.Content.Move(from.Start)
		if oldWhole.IsZero() {
			oldWhole, newWhole = from, to
		}
		if !edited {
			if !bytes.Equal(oldWhole.Of(r.Body()), newWhole.Of(got.Body())) {
				return fmt.Errorf("untouched block %d changed", j)
			}
			continue
		}
		before := jsonspan.Span{Start: oldWhole.Start, End: content.Start}
		after := jsonspan.Span{Start: content.End, End: oldWhole.End}
		was, is := r.Messages[vm.Source].Blocks().At(j), got.Messages[at].Blocks().At(next-1)
		if want := signatureOf(was); p.Content.Len() > 0 && signatureOf(is) != want &&
			was.Kind() != transcript.KindText {
			return fmt.Errorf("block %d lost its signature", j)
		}
		if was.Kind() == transcript.KindText && len(signatureOf(is)) > len(`""`) {
			return fmt.Errorf("block %d kept the signature of other words", j)
		}
		if !bytes.HasPrefix(newWhole.Of(got.Body()), before.Of(r.Body())) ||
			!bytes.HasSuffix(newWhole.Of(got.Body()), after.Of(r.Body())) {
			return fmt.Errorf("block %d changed outside of its content", j)
		}
		if text := transcript.BlockText(got.Messages[at].Blocks().At(next - 1)); text != e.Text {
			return fmt.Errorf("block %d says %q, want %q", j, text, e.Text)
		}
	}
	if next != len(got.body.Elements[at].Places) {
		return errors.New("there are more blocks than before")
	}
	return nil
}

// signatureOf is the literal of a part's signature, "" if it has none.
func signatureOf(b transcript.Block) string {
	raw := ownRaw(b)
	for name, v := range jsonspan.Value(raw).Fields() {
		if camel(name) == "thoughtSignature" {
			return string(v)
		}
	}
	return ""
}

// What clients change from request to request without meaning anything by it leaves the
// hashes alone, and everything else does not.
func TestHashes(t *testing.T) {
	a := decode(t, `{"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"x"}]}],"contents":[{"parts":[{"text":"hi"}]}]}`)
	b := decode(t, `{"tools":[ {"functionDeclarations": [{"name": "x"}]} ],"contents":[ {"parts": [{"text":"hi"}]} ],"systemInstruction":{"parts": [{"text":"s"}]}}`)
	c := decode(t, `{"systemInstruction":{"parts":[{"text":"s2"}]},"tools":[{"functionDeclarations":[{"name":"x"}]}],"contents":[{"parts":[{"text":"hi!"}]}]}`)
	if a.Hashes()[0] != b.Hashes()[0] || a.Hashes()[0] == c.Hashes()[0] ||
		a.Hashes()[0] != MessageHash([]byte(a.Messages[0].Raw())) {
		t.Error("message hashes")
	}
	const call = `{"role":"model","parts":[{"functionCall":{"name":"f"}%s}]}`
	hash := func(signature string) transcript.Hash { return MessageHash(fmt.Appendf(nil, call, signature)) }
	if hash("") != hash(`, "thoughtSignature": "skip_thought_signature_validator"`) ||
		hash("") == hash(`,"thoughtSignature":"cw=="`) {
		t.Error("hashes of signed messages")
	}
}

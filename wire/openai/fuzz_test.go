package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// seeds adds the requests of testdata and some generated ones.
func seeds(f *testing.F, add func(body []byte)) {
	files, _ := filepath.Glob("testdata/request/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, in := wiretest.Archive(string(text))
		add([]byte(in[0].Data))
	}
	for seed := range uint64(8) {
		add(newGen(seed).chat())
		add(newGen(seed).responses())
	}
	for _, rules := range [][]ruleTest{chatRules, responsesRules} {
		for _, rt := range rules {
			add([]byte(rt.bad))
		}
	}
}

// FuzzDecode: nothing panics, and what is accepted passes through unchanged.
func FuzzDecode(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body) })
	f.Fuzz(func(t *testing.T, body []byte) {
		orig := bytes.Clone(body)
		for _, d := range decoders {
			r, err := d.decode(body)
			if err != nil {
				continue
			}
			c := r.common()
			out, err := r.Splice(transcript.Whole(len(c.Messages)))
			if err != nil || !bytes.Equal(out, orig) {
				t.Fatalf("%s: whole view: %v", d.name, err)
			}
			r.Check(model.Model{})
			if len(r.Hashes()) != len(c.Messages) {
				t.Fatalf("%s: hashes", d.name)
			}
			for i, m := range c.Messages {
				if n := len(c.body.Elements[i].Places); n != m.Blocks().Len() {
					t.Fatalf("%s: message %d has %d places for %d blocks", d.name, i, n, m.Blocks().Len())
				}
				EncodeChatMessage(m)
				EncodeItems(m)
			}
		}
		DecodeChatReply(body)
		DecodeResponsesReply(body)
		if !bytes.Equal(body, orig) {
			t.Fatal("the body was changed")
		}
	})
}

// FuzzSplice: any view of any request gives an error or a request that shows the view.
func FuzzSplice(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body, uint64(len(body))) })
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		for _, d := range decoders {
			r, err := d.decode(body)
			if err != nil {
				continue
			}
			if rr, ok := r.(*ResponsesRequest); ok && rr.body.Array.IsZero() {
				continue // nothing to edit but a string
			}
			g := newGen(seed)
			editInPlace(t, d, g, r)
			editAtRandom(t, d, g, r)
		}
	})
}

// FuzzRecorder: nothing panics, and chunks do not matter.
func FuzzRecorder(f *testing.F) {
	files, _ := filepath.Glob("testdata/stream/*.txtar")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, in := wiretest.Archive(string(text))
		f.Add([]byte(in[0].Data), 3, 50)
	}
	f.Fuzz(func(t *testing.T, data []byte, a, b int) {
		for _, chat := range []bool{true, false} {
			want := record(chat, data, len(data))
			if got := record(chat, data, a, b); got != want {
				t.Fatalf("chunks of %d and %d:\n got %s\nwant %s", a, b, got, want)
			}
		}
	})
}

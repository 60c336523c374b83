package tokens_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

func ExampleNewTokenizer() {
	m, _ := model.DefaultModels().Lookup("gpt-4o")
	tok := tokens.NewTokenizer(m, nil)
	fmt.Println(tok.CountText("hello world"))
	fmt.Println(tok.CountMessage(transcript.User("hello world"))) // with its wrapping
	// Output:
	// 2
	// 6
}

// plainModel counts in whole characters, so that expectations can be worked out by hand.
func plainModel(provider string, ratio float64) model.Model {
	return model.Model{
		ID: "m", Provider: provider, Window: 1000, Images: "anthropic",
		Tokenizer: model.TokenRule{Encoding: "chars/1", Ratio: ratio},
	}
}

func TestCounters(t *testing.T) {
	for _, c := range []struct {
		name    string
		counter tokens.Counter
		text    string
		want    int
	}{
		{"o200k", tokens.O200k(), "hello world", 2},
		{"o200k", tokens.O200k(), "", 0},
		{"chars", tokens.CharsPerToken(4), "", 0},
		{"chars", tokens.CharsPerToken(4), "a", 1},
		{"chars", tokens.CharsPerToken(4), "abcd", 1},
		{"chars", tokens.CharsPerToken(4), "äöüß€", 2},
		{"chars", tokens.CharsPerToken(0), "abcdefgh", 2},
	} {
		if got := c.counter.Count(c.text); got != c.want {
			t.Errorf("%s %q: %d, want %d", c.name, c.text, got, c.want)
		}
	}
}

func TestCountBlocks(t *testing.T) {
	tok := tokens.NewTokenizer(plainModel("openai", 1), nil)
	blob := strings.Repeat("QUJD", 400) // 1,600 characters of base64
	for _, c := range []struct {
		name  string
		block transcript.Block
		want  int
	}{
		{"text", transcript.Say("12345"), 5},
		{"empty", transcript.Say(""), 0},
		{"literal", transcript.Text{Text: transcript.Literal(`"12345"`)}, 5},
		{"literal with escapes", transcript.Text{Text: transcript.Literal(`"1\n\u00e9\"5"`)}, 5},
		{
			"long literal with escapes",
			transcript.Text{Text: transcript.Literal(`"` + strings.Repeat(`\n`, 500) + `"`)},
			500,
		},
		{"long text of the same bytes", transcript.Say(`"` + strings.Repeat(`\n`, 500) + `"`), 1002},
		{"broken literal", transcript.Text{Text: transcript.Literal(`"`)}, 0},
		{"call", transcript.Call("id", "read", `{"a":1}`), 8 + 4 + 7},
		{"result", transcript.Result("id", "12345"), 4 + 5},
		{
			"result of two parts",
			transcript.ToolResult{Parts: transcript.BlocksOf(transcript.Say("12"), transcript.Say("345"))},
			4 + 5,
		},
		{"result without parts", transcript.ToolResult{}, 4},
		{"thinking", transcript.Thinking{Text: transcript.Plain(strings.Repeat("x", 400)), Signature: blob}, 400},
		{"thinking that is longer than shown", transcript.Thinking{Text: transcript.Plain("x"), Signature: blob}, 300},
		{"thinking not shown", transcript.Thinking{Signature: blob}, 300},
		{"redacted", transcript.Thinking{Redacted: true, Signature: blob}, 300},
		{"redacted raw", transcript.Thinking{Redacted: true, Raw: blob}, 300},
		{"opaque", transcript.Opaque{Type: "x", Raw: `{"type":"x"}`}, 12},
		{"opaque with ciphertext", transcript.Opaque{Type: "x", Raw: `{"a":"` + blob + `","b":"\"c"}`}, 18 + 300},
		{"opaque with text", transcript.Opaque{Type: "x", Raw: `{"a":"` + strings.Repeat("ab ", 400) + `"}`}, 8 + 1200},
		{"opaque cut off", transcript.Opaque{Type: "x", Raw: `{"a":"` + strings.Repeat("ab ", 4) + `\`}, 19},
		{
			"document by reference",
			transcript.Opaque{Type: "document", Raw: `{"source":{"type":"url","url":"u"}}`},
			35 + 6000,
		},
		{"document of text", transcript.Opaque{Type: "document", Raw: `{"source":{"type":"text","data":"abc"}}`}, 39},
		{"image by reference", transcript.Image{URL: "https://example.com/a.png"}, 1600},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 { // counted, then remembered
				if got := tok.CountBlock(c.block); got != c.want {
					t.Errorf("got %d, want %d", got, c.want)
				}
			}
		})
	}
}

func TestCountRequest(t *testing.T) {
	req := model.Request{
		System: "12345",
		Tools:  []model.Tool{{Name: "ab", Description: "cd", Schema: "{}"}, {Raw: `{"name":"x"}`}},
		Messages: []transcript.Message{
			transcript.User("123"),
			transcript.NewMessage(transcript.RoleUser, transcript.Say("1"), transcript.Say("2")),
		},
	}
	for _, c := range []struct {
		model model.Model
		want  int
	}{
		{plainModel("openai", 1), (4 + 5) + (12 + 8 + 6 + 8 + 12) + (4 + 3) + (4 + 2)},
		{plainModel("anthropic", 1), (4 + 5) + (340 + 16 + 6 + 16 + 12) + (4 + 3) + (4 + 2)},
		{plainModel("openai", 2), (4 + 10) + (12 + 8 + 12 + 8 + 24) + (4 + 6) + (4 + 4)},
	} {
		tok := tokens.NewTokenizer(c.model, nil)
		if got := tok.CountRequest(req); got != c.want {
			t.Errorf("%s ×%v: %d, want %d", c.model.Provider, c.model.Tokenizer.Ratio, got, c.want)
		}
	}
	if got := tokens.NewTokenizer(model.Model{}, nil).CountText("hello world"); got != 2 {
		t.Errorf("a model without rules counts %d", got)
	}
	if got := tokens.NewTokenizer(model.Model{}, nil).CountTools(nil); got != 0 {
		t.Errorf("no tools count %d", got)
	}
}

type countingCounter struct{ calls *int }

func (c countingCounter) Count(text string) int { *c.calls++; return len(text) }

func TestCountsAreRemembered(t *testing.T) {
	calls := 0
	tok := tokens.NewTokenizer(plainModel("", 1), &tokens.Options{Counter: countingCounter{&calls}, CacheSize: 64})
	long := func(i int) string { return strconv.Itoa(i) + strings.Repeat(" word", 100) }
	for range 10 {
		if got := tok.CountText(long(1)); got != 501 {
			t.Fatalf("got %d", got)
		}
	}
	if calls != 1 {
		t.Errorf("counted %d times", calls)
	}
	for i := range 10_000 { // far more than fit, and one that is used all the time
		tok.CountText(long(i + 10))
		tok.CountText(long(1))
	}
	if calls > 10_000+50 {
		t.Errorf("a text in constant use was forgotten: counted %d times", calls)
	}
	if n := tokens.CachedCounts(tok); n > 64 {
		t.Errorf("%d counts are kept, limit 64", n)
	}
	calls = 0
	tok = tokens.NewTokenizer(plainModel("", 1), &tokens.Options{Counter: countingCounter{&calls}, CacheSize: -1})
	tok.CountText(long(1))
	tok.CountText(long(1))
	if calls != 2 {
		t.Errorf("without a cache counted %d times", calls)
	}
}

func TestTokenizerConcurrently(t *testing.T) {
	tok := tokens.NewTokenizer(plainModel("", 1), &tokens.Options{CacheSize: 32})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				text := strings.Repeat(`\n`, 200+(i*7+g)%90)
				if got := tok.CountBlock(transcript.Text{Text: transcript.Literal(`"` + text + `"`)}); got != len(text)/2 {
					t.Errorf("got %d, want %d", got, len(text)/2)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A table names only encodings that can be counted with.
func TestKnownEncodings(t *testing.T) {
	for name, count := range map[string]int{ // of eight letters; 0: unknown
		"o200k_base": 1, "chars/4": 2, "chars/3.5": 3, "chars/0.1": 80, "chars/100": 1, "chars/1e1": 1,
		"": 0, "cl100k_base": 0, "o200k": 0, "O200K_BASE": 0, "p50k_base": 0, "gpt2": 0,
		"chars": 0, "chars/": 0, "chars/x": 0, "chars/0": 0, "chars/0.09": 0, "chars/101": 0,
		"chars/-4": 0, "chars/NaN": 0, "chars/Inf": 0, "chars/4 ": 0,
	} {
		row := fmt.Sprintf(`{"models": [{"id": "m", "window": 1000, "tokenizer": {"encoding": %q, "ratio": 1}}]}`, name)
		table, err := model.ParseModels(strings.NewReader(row))
		if (err == nil) != (count > 0) {
			t.Errorf("encoding %q: the table of models says %v", name, err)
		} else if count > 0 {
			m, _ := table.Lookup("m")
			if n := tokens.NewTokenizer(m, nil).CountText("response"); n != count {
				t.Errorf("encoding %q counts %d, want %d", name, n, count)
			}
		}
	}
}

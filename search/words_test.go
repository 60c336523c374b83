package search_test

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/search"
)

func TestWords(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"  ,;()\x00\xff\n", ""},
		{"The quick, brown fox", "the quick brown fox"},
		{"parseHTTPRequest", "parsehttprequest parse http request"},
		{"listURLs", "listurls list urls"},
		{"sha256Sum", "sha256sum sha256 sum"},
		{"snake_case_name", "snake_case_name snake case name"},
		{"SCREAMING_SNAKE", "screaming_snake screaming snake"},
		{"--dry-run", "dry-run dry run"},
		{"__init__", "init"},
		{"internal/store/blob_test.go:12", "internal store blob_test.go blob_test blob test go 12"},
		{"pleat.ErrCorrupt", "pleat.errcorrupt pleat errcorrupt err corrupt"},
		{"archive.tar.gz", "archive.tar.gz archive tar gz"},
		{"https://example.com/a?b=c", "https example.com example com a b c"},
		{"v1.26.0 at 10.0.0.1", "v1.26.0 v1 26 0 at 10.0.0.1"},
		{"3.14 1,000 0x1F", "3.14 1 000 0x1f 0x1 f"},
		{"commit 9F86D081884C7D65", "commit 9f86d081884c7d65"},
		{"deadbeef01 cafe", "deadbeef01 cafe"},
		{"Größe Straße ÉCOLE", "größe straße école"},
		{"naïveCamelÉtat", "naïvecamelétat naïve camel état"},
		{"日本語", "日 日本 本 本語 語"},
		{"修改user_id字段", "修 修改 改 user_id user id 字 字段 段"},
		{"हिन्दी", "हिन्दी"},
		{"...", ""},
		{"x", "x"},
	}
	for _, test := range tests {
		got := strings.Join(slices.Collect(search.Words(test.text)), " ")
		if got != test.want {
			t.Errorf("Words(%q)\n got %q\nwant %q", test.text, got, test.want)
		}
	}
}

// Encoded data must not fill the index with words that nobody will ever look for.
func TestWordsOfData(t *testing.T) {
	raw := make([]byte, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	tests := []struct {
		name, text string
		most       int
	}{
		{"base64", base64.StdEncoding.EncodeToString(raw), 1},
		{"base64url", base64.RawURLEncoding.EncodeToString(raw), 1},
		{"hex", strings.Repeat("0123456789abcdef", 1<<16), 1},
		{"letters", strings.Repeat("x", 1<<20), 1},
		{"data uri", `"data:image/png;base64,` + base64.StdEncoding.EncodeToString(raw) + `"`, 5},
	}
	for _, test := range tests {
		words := slices.Collect(search.Words(test.text))
		if len(words) > test.most {
			t.Errorf("%s: %d words, want at most %d; the first: %q", test.name, len(words), test.most, words[:3])
		}
		if len(words) == 0 || len(words[0]) > 64 {
			t.Errorf("%s: first word is none or too long", test.name)
		}
	}
}

func TestWordsStop(t *testing.T) {
	for n := range 12 {
		got := 0
		for range search.Words("fooBar_baz.qux 日本 " + strings.Repeat("aB3", 100)) {
			if got++; got > n {
				break
			}
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{
		"parseHTTPRequest snake_case a.b-c/d", "日本語テキスト", "ⱥȺ İ ǅ", strings.Repeat("aB1+", 80),
		"\xff\xfe_\x00-", strings.Repeat("Ⱥ_", 40),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for word := range search.Words(text) {
			total++
			if word == "" || len(word) > 64 || !utf8.ValidString(word) {
				t.Fatalf("Words(%q): bad word %q", text, word)
			}
			if strings.ContainsAny(word, " /\"\x00") {
				t.Fatalf("Words(%q): separator in word %q", text, word)
			}
			if !slices.Contains(slices.Collect(search.Words(word)), word) {
				t.Fatalf("Words(%q): word %q does not find itself", text, word)
			}
		}
		if total > 4*len(text) {
			t.Fatalf("Words(%q): %d words from %d bytes", text, total, len(text))
		}
	})
}

func TestWindows(t *testing.T) {
	lines := strings.Repeat("a line\n", 30)
	long := strings.Repeat("word ", 2000) // 10,000 bytes
	type window struct{ From, To int }
	tests := []struct {
		name, text string
		want       []window
	}{
		{"empty", "", nil},
		{"one line", "hello", []window{{0, 1}}},
		{"one line, ended", "hello\n", []window{{0, 1}}},
		{"twelve", strings.Repeat("x\n", 12), []window{{0, 12}}},
		{"thirty", lines, []window{{0, 12}, {8, 20}, {16, 28}, {24, 30}}},
		{"long line", long, []window{{0, 1}, {0, 1}, {0, 1}}},
		{"long line inside", "a\nb\n" + long + "\nc\n", []window{{0, 2}, {2, 3}, {2, 3}, {2, 3}, {3, 4}}},
	}
	for _, test := range tests {
		var got []window
		for w := range search.Windows(test.text) {
			got = append(got, window{w.From, w.To})
		}
		difftest.Equal(t, test.want, got, test.name)
	}
}

func FuzzWindows(f *testing.F) {
	f.Add("a\nb\n", uint16(1))
	f.Add("x", uint16(5000))
	f.Add("é\xff", uint16(3000))
	f.Add("word, word\n", uint16(900))
	f.Fuzz(func(t *testing.T, piece string, times uint16) {
		if len(piece) > 200 {
			piece = piece[:200]
		}
		text := strings.Repeat(piece, int(times)%6000)
		covered, lines, total := 0, 0, 0
		for w := range search.Windows(text) {
			if w.Text != text[w.Start:w.End] || w.Start >= w.End || len(w.Text) > 4096 {
				t.Fatalf("window %d–%d of %d bytes is wrong", w.Start, w.End, len(text))
			}
			if w.Start > covered || w.End <= covered {
				t.Fatalf("window %d–%d after byte %d", w.Start, w.End, covered)
			}
			if from := strings.Count(text[:w.Start], "\n"); from != w.From {
				t.Fatalf("window at byte %d: From = %d, want %d", w.Start, w.From, from)
			}
			inside := strings.Count(w.Text, "\n")
			if !strings.HasSuffix(w.Text, "\n") {
				inside++
			}
			if w.To-w.From != inside || inside > 12 {
				t.Fatalf("window at byte %d has %d lines, says %d", w.Start, inside, w.To-w.From)
			}
			covered, lines, total = w.End, w.To, total+len(w.Text)
		}
		if covered != len(text) {
			t.Fatalf("windows end at byte %d of %d", covered, len(text))
		}
		if total > 3*len(text) {
			t.Fatalf("windows hold %d bytes of a text of %d (%d lines)", total, len(text), lines)
		}
	})
}

func TestBM25(t *testing.T) {
	base := search.BM25(1, 100, 100, 10, 1000)
	if base <= 0 {
		t.Errorf("score = %v, want more than 0", base)
	}
	if more := search.BM25(3, 100, 100, 10, 1000); more <= base {
		t.Error("a word that occurs more often must weigh more")
	}
	if long := search.BM25(1, 300, 100, 10, 1000); long >= base {
		t.Error("a word in a longer place must weigh less")
	}
	if common := search.BM25(1, 100, 100, 900, 1000); common >= base || common <= 0 {
		t.Error("a common word must weigh less, but something")
	}
}

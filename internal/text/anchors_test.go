package text

import (
	"slices"
	"testing"
)

func TestAnchors(t *testing.T) {
	tests := []struct {
		text string
		want []string
	}{
		{"a plain sentence, with Capitals and well-known words.", nil},
		{"call parseTree(ctx) or ParseTree or parse_tree", []string{"parseTree", "ParseTree", "parse_tree"}},
		{"see src/a/sts.go:12 and go.mod", []string{"sts.go", "go.mod"}},
		{"fmt.Errorf and m.TokenForResource", []string{"fmt.Errorf", "TokenForResource"}},
		{"commit 27a33e9, port 8080, 42 lines, v1.26.3", []string{"27a33e9", "8080", "v1.26.3"}},
		{"https://api.example.com/v2/users?id=abc123", []string{"api.example.com", "abc123"}},
		{"sha256 of HTTP2 — das „größte“ Ding→nextThing", []string{"sha256", "HTTP2", "größte", "nextThing"}},
		{"--no-verify -x ... end.", nil},
		{"", nil},
	}
	for _, tt := range tests {
		var got []string
		for _, a := range AppendAnchors(nil, tt.text) {
			got = append(got, tt.text[a.Start:a.end])
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("anchors of %q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// The same name has the same hash wherever it stands.
func TestAnchorsMeet(t *testing.T) {
	texts := []string{"the tokenStore is", "m.tokenStore(", "/home/me/x/tokenStore/y", `"tokenStore":`}
	want := AppendAnchors(nil, texts[0])[0].Hash
	for _, s := range texts {
		if got := AppendAnchors(nil, s); len(got) != 1 || got[0].Hash != want {
			t.Errorf("%q has no anchor equal to that of %q", s, texts[0])
		}
	}
}

func FuzzAnchors(f *testing.F) {
	for _, s := range []string{"", "a.b-c", "x—y", "\xe2", "\xe2\x80", "aB.cD/e_f", "1.2.3."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, a := range AppendAnchors(nil, s) {
			if a.Start < last || a.end <= a.Start || a.end > len(s) {
				t.Fatalf("anchor %+v of %q is out of place", a, s)
			}
			last = a.end
		}
		CueScore(s, nil)
		for _, u := range ProseUnits(s) {
			if u.Start < 0 || u.End < u.Start || u.End > len(s) || u.Parent >= len(s) {
				t.Fatalf("unit %+v of %q is out of place", u, s)
			}
		}
	})
}

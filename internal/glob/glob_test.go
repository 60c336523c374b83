package glob

import (
	"strings"
	"testing"
)

// The patterns mean what they mean in the module doublestar, which the answers are from.
func TestCompile(t *testing.T) {
	for _, tt := range []struct{ pattern, yes, no string }{
		{"*", "a a.go .env é", "a/b a/b/c"},
		{"*.go", "a.go .go", "a/b.go a.go/b a.got"},
		{"**", "a a/b a/b/c.go", ""},
		{"**/*", "a a/b a/b/c.go", ""},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a.got a/b.c"},
		{"src/**", "src src/a src/a/b", "srcs a/src src.go"},
		{"src/**/", "src", "src/a a/src"},
		{"src/**/*.go", "src/a.go src/a/b/c.go", "src a.go asrc/a.go"},
		{"src/**.go", "src/a.go src/.go", "src/a/b.go"},
		{"**/src/**", "src src/a a/src a/b/src/c", "asrc/a srca"},
		{"a/**/b/**/c", "a/b/c a/x/b/y/z/c", "a/c a/b/d"},
		{"a/**/**", "a/b a/b/c", "a b"},
		{"docs/*", "docs/a.md", "docs docs/a/b.md"},
		{"?.go", "a.go é.go", "ab.go .go"},
		{"a?b", "axb", "a/b ab"},
		{"[ab].go", "a.go b.go", "c.go ab.go"},
		{"[^ab].go", "c.go é.go", "a.go b.go"},
		{"[!a-c]", "d é", "a b c"},
		{"[a-cx-z]", "a c x z", "d w -"},
		{`[\]\-]`, "] -", `a \`},
		{"[a-]", "a -", "b"},
		{"[*?{]", "* ? {", "a"},
		{"{a,b}.go", "a.go b.go", "c.go {a,b}.go"},
		{"*.{js,ts}", "a.js b.ts", "a.jsx js"},
		{"*.{js,ts}{,x}", "a.js a.jsx b.ts b.tsx", "a.jx"},
		{"{a,{b,c}d}", "a bd cd", "b c d ad"},
		{"{src,docs}/**/*.{go,md}", "src/a.go docs/x/y.md", "lib/a.go src/a.c"},
		{"{**/a,b}/c", "a/c x/a/c b/c", "x/b/c"},
		{"{**,b}/c", "c a/c b/c x/y/c", "d"},
		{"a{/b,}", "a a/b", "ab"},
		{"*{a,*}", "a xa b", "x/a a/b/c"},
		{"**{,b}", "a ab", "a/b"},
		{`\*.go`, "*.go", "a.go"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"a.b+(c)|d$", "a.b+(c)|d$", "aXb+(c)|d$ d a.bb(c)"},
		{"Makefile", "Makefile", "makefile a/Makefile Makefile2"},
		{"", "", "a"},
	} {
		g, err := Compile(tt.pattern)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		for _, name := range strings.Fields(tt.yes) {
			if !g.MatchString(name) {
				t.Errorf("%q does not match %q", tt.pattern, name)
			}
		}
		for _, name := range strings.Fields(tt.no) {
			if g.MatchString(name) {
				t.Errorf("%q matches %q", tt.pattern, name)
			}
		}
	}
	for _, pattern := range []string{
		"[", "[]", "[^]", "[a", `[a\`, "{a", "a}", "{a,{b}", `a\`, "[b-a]", strings.Repeat("{a,b}", 20),
	} {
		if g, err := Compile(pattern); err == nil {
			t.Errorf("%q was read as %s", pattern, g)
		}
	}
}

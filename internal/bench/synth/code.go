package synth

import (
	"path"
	"strings"
)

// source writes a source file.
func (s *synth) source(f *synthFile, typ, constant lit) []phrase {
	s.code++
	defer func() { s.code-- }()
	var out []phrase
	add := func(template string, env ...any) { out = append(out, phraseLines(s.x(template, env...))...) }
	head := []any{"pkg", path.Base(path.Dir(f.path.s)), "type", typ, "const", constant}
	switch s.p.lang.ext {
	case ".go":
		add(
			"package <pkg>\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log/slog\"\n\t\"sort\"\n\t\"sync\"\n\t\"time\"\n\n\t\"github.com/<org>/<proj>/internal/<noun>\"\n)\n",
			head...)
		add("// <const> bounds how many <noun>s one <noun2> may hold.\nconst <const> = <nnn>\n", head...)
		add(
			"// <type> <verbs> <noun>s for a <noun2>. It is safe for concurrent use.\ntype <type> struct {\n\tmu     sync.Mutex\n\t<noun>s map[string]*<Noun>\n\tclosed bool\n\tnow    func() time.Time\n}\n",
			head...)
	case ".py":
		add(
			"\"\"\"<Noun> <noun>s for the <proj> <noun2>.\"\"\"\n\nfrom __future__ import annotations\n\nimport logging\nfrom dataclasses import dataclass\n\nimport pandas as pd\n\nlogger = logging.getLogger(__name__)\n",
		)
		add(
			"<const> = <nnn>\n\n\n@dataclass\nclass <type>:\n    <noun>: str\n    <noun2>_count: int = 0\n    retries: int = <n>\n",
			head...)
	default:
		add(
			"import { EventEmitter } from \"node:events\";\nimport type { <Noun> } from \"../<noun2>/types\";\nimport { logger } from \"../logger\";\n\nexport const <const> = <nnn>;\n",
			head...)
		add(
			"/** Keeps <noun>s of one <noun2>. */\nexport interface <type> {\n\tid: string;\n\t<noun>: string;\n\tretries: number;\n}\n",
			head...)
	}
	for _, fn := range f.fns {
		out = append(out, s.function(fn, typ)...)
	}
	return out
}

// function writes a function with its comment and an empty line after it.
func (s *synth) function(fn, typ lit) []phrase {
	var out []phrase
	add := func(template string, env ...any) { out = append(out, phraseLines(s.x(template, env...))...) }
	env := []any{"self", fn, "recv", typ}
	last := "}\n"
	switch s.p.lang.ext {
	case ".go":
		add(
			"// <self> <verbs> the <noun> of a <noun2>; a <adj> one is left alone.\nfunc (s *<recv>) <self>(ctx context.Context, <v> *<Noun>, attempt int) error {",
			env...)
		last = "\treturn nil\n}\n"
	case ".py":
		add(
			"\ndef <self>(<v>, *, attempt: int = 0):\n    \"\"\"<verb> the <noun> of a <noun2>; a <adj> one is left alone.\"\"\"",
			env...)
		last = "    return <v>\n"
	default:
		add(
			"/** <verb> the <noun> of a <noun2>; a <adj> one is left alone. */\nexport async function <self>(<v>: <Noun>, attempt = 0): Promise<void> {",
			env...)
	}
	for range s.between(1, 5) {
		out = append(out, s.statement()...)
	}
	add(last)
	return out
}

func (s *synth) statement() []phrase { return phraseLines(s.x(pickOne(s.r, s.p.lang.body))) }

// testCode writes the tests of a file.
func (s *synth) testCode(f *synthFile) []phrase {
	s.code++
	defer func() { s.code-- }()
	var out []phrase
	add := func(template string, env ...any) { out = append(out, phraseLines(s.x(template, env...))...) }
	switch s.p.lang.ext {
	case ".go":
		add("package <pkg>\n\nimport (\n\t\"context\"\n\t\"testing\"\n)\n", "pkg", path.Base(path.Dir(f.path.s)))
	case ".py":
		add(
			"import pytest\n\nfrom <proj>.<mod> import <fn>\n", "mod",
			strings.TrimSuffix(path.Base(f.testOf.path.s), ".py"), "fn", f.testOf.fns[0],
		)
	default:
		add(
			"import { describe, expect, it } from \"vitest\";\nimport { <fn> } from \"./<mod>\";\n", "mod",
			strings.TrimSuffix(path.Base(f.testOf.path.s), ".ts"), "fn", f.testOf.fns[0],
		)
	}
	for i, t := range f.tests {
		env := []any{"test", t, "fn", f.testOf.fns[i]}
		switch s.p.lang.ext {
		case ".go":
			add(
				"func <test>(t *testing.T) {\n\ts := new<Noun>ForTest(t)\n\tgot, err := s.<fn>(context.Background(), &<Noun>{ID: \"<noun>-<nn>\", Limit: <nnn>}, <n>)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got.Count != <nn> {\n\t\tt.Errorf(\"got %d <noun>s, want %d\", got.Count, <nn>)\n\t}\n}\n",
				env...)
		case ".py":
			add(
				"\n@pytest.mark.parametrize(\"limit\", [<n>, <nn>, <nnn>])\ndef <test>(limit, <noun>_store):\n    got = <fn>(<noun>_store, attempt=<n>)\n    assert got.<noun2>_count == limit\n    assert got.state != \"<adj>\"\n",
				env...)
		default:
			add(
				"describe(\"<fn>\", () => {\n\tit(\"<test>\", async () => {\n\t\tconst got = await <fn>({ id: \"<noun>-<nn>\", limit: <nnn> });\n\t\texpect(got.<noun2>Count).toBe(<nn>);\n\t});\n});\n",
				env...)
		}
	}
	return out
}

package shell

import (
	"fmt"
	"strings"
	"testing"
)

// gist writes a script on one line: each command with the operator before it, what feeds and
// takes its streams, "?" before words with expansions in them, and marks for what is nested.
func gist(s Script) string {
	var b strings.Builder
	for _, c := range s.Commands {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if c.Sep != "" {
			b.WriteString(c.Sep + " ")
		}
		if c.Nested {
			b.WriteByte('^')
		}
		b.WriteString(strings.Repeat("(", c.Sub) + "[")
		parts := append([]string{}, c.Assigns...)
		for _, w := range c.Words {
			parts = append(parts, open(w))
		}
		for _, r := range c.Redirects {
			parts = append(parts, r.Op+open(r.Target))
		}
		b.WriteString(strings.Join(parts, " ") + "]")
		if c.Heredoc != "" {
			fmt.Fprintf(&b, "%q", c.Heredoc)
		}
	}
	if s.Flow {
		b.WriteString(" flow")
	}
	if s.Cut {
		b.WriteString(" cut")
	}
	if s.Broken {
		b.WriteString(" broken")
	}
	return b.String()
}

func open(w Word) string {
	if w.Open {
		return "?" + w.Text
	}
	return w.Text
}

func TestParse(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"nothing", "", ""},
		{"a command", "ls -la src", "[ls -la src]"},
		{"operators", "a && b || c; d & e | f |& g", "[a] && [b] || [c] ; [d] & [e] | [f] | [g]"},
		{"lines", "a\n\nb # not this\n#nor this\nc", "[a] ; [b] ; [c]"},
		{"a line that goes on", "a \\\n b", "[a b]"},
		{"quotes", `a 'b c' "d e" f\ g h"i"j`, "[a b c d e f g hij]"},
		{"escapes in quotes", `a "b\"c\$d\e"`, `[a b"c$d\e]`},
		{"quotes with escapes", `a $'it\'s'`, `[a it\'s]`},
		{"expansions", `a $b ${c d} $((1+2)) "$e" '$f' $`, "[a ?$b ?${c d} ?$((1+2)) ?$e $f $]"},
		{"a substitution", "a $(b c) d", "^[b c] [a ?$(b c) d]"},
		{"backticks", "a `b c` d", "^[b c] [a ?`b c` d]"},
		{"a process substitution", "diff <(a) <(b)", "^[a] ^[b] [diff ?<(a) ?<(b)]"},
		{"assignments", "A=1 B='2 3' c d=e", "[A=1 B='2 3' c d=e]"},
		{"redirections", "a > b 2>&1 < c >> d &> e", "[a >b >&1 <c >>d &>e]"},
		{"a subshell", "(cd a; b) && c", "; ([cd a] ; ([b] && [c] flow"},
		{"control flow", "if a; then b; else c; fi", "[a] ; [b] ; [c] flow"},
		{"a loop", "for f in *; do a; done", "[for f in *] ; [a] flow"},
		{"not", "! a", "[a]"},
		{"a here-document", "cat <<EOF > a\nb\n$c\nEOF\nd", "[cat <<EOF >a]\"b\\n$c\\n\" ; [d]"},
		{"tabs before it", "cat <<-'E'\n\tb\n\tE\nd", "[cat <<-E]\"b\\n\" ; [d]"},
		{"two of them", "a <<X; b <<Y\n1\nX\n2\nY", "[a <<X]\"1\\n\" ; [b <<Y]\"2\\n\""},
		{"a here-string", "a <<<'b c'", "[a <<<b c]\"b c\""},
		{"one in a substitution", "a \"$(cat <<E\nb\nE\n)\"", "^[cat <<E]\"b\\n\" [a ?$(cat <<E\nb\nE\n)]"},
		{"an open quote", "a 'b", "[a b] broken"},
		{"an open double quote", `a "b`, "[a b] broken"},
		{"an open substitution", "a $(b", "^[b] [a ?$(b] broken"},
		{"only a redirection", "> a", "[>a]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := gist(Parse(test.script, false)); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.script, got, test.want)
			}
		})
	}
}

func TestParseLiteral(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"backslashes", `type C:\a\b.txt`, `[type C:\a\b.txt]`},
		{"an escape", "echo `\"a", "[echo a]"},
		{"blocks", "ls | % { rm $_ }", "[ls] | [%] ; [rm ?$_] flow"},
		{"all streams", "a *> b", "[a >b]"},
		{"a here-string", "$t = @'\na > b\n'@\nc $t", "[?$t = \na > b] ; [c ?$t]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := gist(Parse(test.script, true)); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.script, got, test.want)
			}
		})
	}
}

// TestParseBounds parses what goes beyond the bounds.
func TestParseBounds(t *testing.T) {
	for name, script := range map[string]string{
		"a long script":     strings.Repeat("a b c\n", MaxScript/6+1),
		"many commands":     strings.Repeat("a;", MaxCommands+1),
		"many words":        strings.Repeat("a ", maxWords+1),
		"many redirections": "a" + strings.Repeat(" >b", MaxCommands+1),
		"deep nesting":      strings.Repeat("$(a ", MaxNesting+1) + strings.Repeat(")", MaxNesting+1),
	} {
		s := Parse(script, false)
		if !s.Cut || len(s.Commands) > MaxCommands {
			t.Errorf("%s: cut %v, %d commands", name, s.Cut, len(s.Commands))
		}
	}
}

func TestCommandName(t *testing.T) {
	for script, want := range map[string]string{
		"/usr/bin/git log": "git", "git log": "git", "$tool log": "", "A=1": "", "'my tool' x": "my tool",
	} {
		c := Parse(script, false).Commands[0]
		if got := c.Name(); got != want {
			t.Errorf("%s: name %q, want %q", script, got, want)
		}
	}
	c := Parse("a b 'c d'", false).Commands[0]
	if got := strings.Join(c.Args(), "|"); got != "b|c d" {
		t.Errorf("arguments %s", got)
	}
}

func TestLineRange(t *testing.T) {
	tests := []struct {
		script      string
		first, last int
		ok          bool
	}{
		{"10,20p", 10, 20, true},
		{" 5p ", 5, 5, true},
		{"7,$p", 7, 0, true},
		{"20,10p", 20, 10, false},
		{"1,2d", 0, 0, false},
		{"/x/p", 0, 0, false},
		{"-1,2p", 0, 0, false},
	}
	for _, test := range tests {
		first, last, ok := LineRange(test.script)
		if ok != test.ok || ok && (first != test.first || last != test.last) {
			t.Errorf("LineRange(%q) = %d, %d, %v", test.script, first, last, ok)
		}
	}
}

// FuzzParse checks that parsing ends, keeps to its bounds and invents nothing: every word is
// in the script as it was written.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a <<E\nb\nE\n", "$(`a`) ${", "if (a) { b } 2>*", "a\\", "@'\n'@", "<<<$'"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, script string, literal bool) {
		s := Parse(script, literal)
		if len(s.Commands) > MaxCommands {
			t.Errorf("%d commands", len(s.Commands))
		}
		for _, c := range s.Commands {
			for _, w := range c.Words {
				if !strings.Contains(script, w.Raw) {
					t.Errorf("%q is not in the script", w.Raw)
				}
			}
		}
	})
}

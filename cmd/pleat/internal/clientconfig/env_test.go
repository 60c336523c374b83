package clientconfig

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The key is set where dotenv reads it; a file in which it might be in the text of another key's value is refused.
func TestEnv(t *testing.T) {
	const set, at = "URL=" + url + "\n", "URL=http://inner"
	for before, after := range map[string]string{
		at + "\nA=1\n" + at + " # last\n":      at + "\nA=1\nURL=" + url + " # last\n",
		"export URL = 'x' # y\n":               "export URL = " + url + " # y\n",
		"URL=\n":                               set,
		"URL=#c\r\nA=\"1\\2\" # it's\r\n":      "URL=" + url + "#c\r\nA=\"1\\2\" # it's\r\n",
		"N=`first\n" + at + "\nlast`\n":        "",
		"N=\"say \\\"hi\n" + at + "\nlast\"\n": "",
		"N='it\\'s\n" + at + "\nlast'\n":       "",
		"N='it\\'\n" + at + "'\n":              "",
		"MY-N=\"a\n" + at + "\nb\"\n":          "",
		"N=\n\"a\n" + at + "\nb\"\n":           "",
		"N=\"open\n" + at + "\n":               "",
		"URL: x\n":                             "",
		"\ufeffURL=`x`\n":                      "",
		"N:":                                   "",
		"A=1\r" + at:                           "",
		"A=1\u2028" + at:                       "",
	} {
		path := filepath.Join(t.TempDir(), ".env")
		write(t, path, before)
		e, err := Set(path, path+".undo", Key{[]string{"URL"}, url})
		if after == "" {
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%q became %q: %v", before, e.After, err)
			}
			continue
		}
		if err != nil || string(e.After) != after {
			t.Errorf("%q: %v, want %q", before, err, after)
			continue
		}
		if got := dotenv(after)["URL"]; got != url {
			t.Errorf("%q: dotenv reads %q", after, got)
		}
	}
}

// FuzzEnv: to a reader of dotenv's, setting and taking back change the one key alone.
func FuzzEnv(f *testing.F) {
	for _, seed := range []string{
		"", "A=1", "N=`a\nURL=b\n`\nURL=c", "N=\"a\\\"\nURL=b\"", "N: 'x\nURL: y", "export URL = z # c\r\nB.c=1\r", "URL=",
		"URL:\n\"x\"\n", "N:", "a-b.c=\"\\n\" #\n\n\nURL\n=\n1", "export URL=1 \"2\" '3'\nURL=\"4", "export=URL=1",
	} {
		f.Add(seed, "B=2\n")
	}
	f.Fuzz(func(t *testing.T, text, more string) {
		path := filepath.Join(t.TempDir(), ".env")
		write(t, path, text)
		e, err := Set(path, path+".undo", Key{[]string{"URL"}, url})
		if err != nil {
			return
		}
		must(t, e.Write())
		want := dotenv(text)
		want["URL"] = url
		if got := dotenv(string(e.After)); !maps.Equal(got, want) {
			t.Fatalf("%q became %q: dotenv reads %q, want %q", text, e.After, got, want)
		}
		changed := string(e.After) + more
		write(t, path, changed)
		if e, err = Undo(path + ".undo"); err != nil {
			return
		}
		was, now := dotenv(changed), dotenv(string(e.After))
		delete(was, "URL")
		delete(now, "URL")
		if !maps.Equal(was, now) {
			t.Errorf("%q became %q: dotenv reads %q, want %q", changed, e.After, now, was)
		}
	})
}

// dotenv reads a text as npm's dotenv does, by hand instead of by its pattern.
func dotenv(text string) map[string]string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	r, values := dotenvReader(text), make(map[string]string)
	for at := 0; at <= len(r); at++ {
		if at > 0 && r[at-1] != '\n' {
			continue
		}
		name, value, end, ok := r.entry(at)
		if !ok {
			continue
		}
		value = strings.TrimFunc(value, isSpace)
		quote := value[:min(1, len(value))]
		if quote != "" && strings.Contains("'\"`", quote) && len(value) > 1 && strings.HasSuffix(value, quote) {
			value = value[1 : len(value)-1]
		}
		if quote == `"` {
			value = strings.ReplaceAll(strings.ReplaceAll(value, `\n`, "\n"), `\r`, "\r")
		}
		values[name] = value
		at = end - 1
	}
	return values
}

type dotenvReader []rune

func isSpace(c rune) bool {
	return strings.ContainsRune("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", c) ||
		c >= 0x2000 && c <= 0x200a
}

func (r dotenvReader) spaces(at int) int {
	for at < len(r) && isSpace(r[at]) {
		at++
	}
	return at
}

func (r dotenvReader) entry(at int) (name, value string, end int, ok bool) {
	at = r.spaces(at)
	const export = "export"
	if rest := r[at:]; len(rest) > len(export) && string(rest[:len(export)]) == export && isSpace(rest[len(export)]) {
		if name, value, end, ok = r.pair(r.spaces(at + len(export))); ok {
			return name, value, end, ok
		}
	}
	return r.pair(at)
}

func (r dotenvReader) pair(begin int) (name, value string, end int, ok bool) {
	at := begin
	for at < len(r) && (r[at] < 128 && strings.ContainsRune("._-", r[at]) || r[at] >= '0' && r[at] <= '9' ||
		r[at] >= 'a' && r[at] <= 'z' || r[at] >= 'A' && r[at] <= 'Z') {
		at++
	}
	if at == begin {
		return "", "", 0, false
	}
	name = string(r[begin:at])
	first := 0
	if sign := r.spaces(at); sign < len(r) && r[sign] == '=' {
		first = sign + 1
	} else if at+1 < len(r) && r[at] == ':' && isSpace(r[at+1]) {
		first = at + 2
	} else {
		return "", "", 0, false
	}
	for from := first; from <= r.spaces(first); from++ { // as few spaces as will do
		if to, end, ok := r.value(from); ok {
			return name, string(r[from:to]), end, true
		}
	}
	return "", "", 0, false
}

// value tries each kind of quotes, then none, then no value.
func (r dotenvReader) value(from int) (to, end int, ok bool) {
	open := r.spaces(from)
	for _, quote := range "'\"`" {
		if open == len(r) || r[open] != quote {
			continue
		}
		var ends []int // the first that is not escaped, then the escaped ones, the last first
		for at := open + 1; at < len(r); at++ {
			if r[at] == quote {
				ends = append(ends, at)
				if at == open+1 || r[at-1] != '\\' {
					break
				}
			}
		}
		for _, at := range slices.Backward(ends) {
			if end, ok := r.rest(at + 1); ok {
				return at + 1, end, true
			}
		}
	}
	for to = from; to < len(r) && r[to] != '#' && r[to] != '\n'; to++ {
	}
	end, ok = r.rest(to)
	return to, end, ok
}

// rest is what may stand behind a value: spaces, and a comment up to the end of a line.
func (r dotenvReader) rest(from int) (int, bool) {
	for at := r.spaces(from); at >= from; at-- {
		if at < len(r) && r[at] == '#' {
			for at < len(r) && r[at] != '\n' {
				at++
			}
		}
		if at == len(r) || r[at] == '\n' {
			return at, true
		}
	}
	return 0, false
}

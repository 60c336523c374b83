package clientconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// lineSyntax is a format with keys on lines of their own: TOML, which has tables, YAML and .env.
type lineSyntax struct {
	lineFormat
	sep    string // between a key and its value
	tables bool
}

// lineFormat is how such a format is read, and how its values are written.
type lineFormat interface {
	decode(text []byte) (map[string]any, error)
	encode(value any, depth int, text []byte) (string, error)
	lines(text []byte) []line
}

var (
	tomlSyntax = lineSyntax{
		lineFormat: keyLines{
			toml.Unmarshal, regexp.MustCompile(`^\s*\[([^\[\]]+)\]\s*(#.*)?$`),
			regexp.MustCompile(`^\s*([\w"'-]+)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^#]*?)\s*(#.*)?$`),
		},
		sep: " = ", tables: true,
	}
	yamlSyntax = lineSyntax{
		lineFormat: keyLines{
			yaml.Unmarshal, nil, regexp.MustCompile(`^([\w"'-]+):\s+("(?:[^"\\]|\\.)*"|'[^']*'|.*?)\s*(\s#.*)?$`),
		},
		sep: ": ",
	}
)

// keyLines is TOML or YAML, and of .env the lines.
type keyLines struct {
	unmarshal   func([]byte, any) error
	header, key *regexp.Regexp // header is nil where there are no tables
}

func (f keyLines) decode(text []byte) (map[string]any, error) {
	values := make(map[string]any)
	err := f.unmarshal(text, &values)
	if values == nil { // a YAML file of comments
		values = make(map[string]any)
	}
	return values, err
}

func (keyLines) encode(value any, _ int, _ []byte) (string, error) {
	return encodeJSON(value, "", "") // whose texts and lists are also TOML's and YAML's
}

// line is a line of the text: a key, a table's header, or neither.
type line struct {
	start, end     int    // with its line feed
	table          string // that it is in
	name           string // of the key
	from, to       int    // of the value
	header, ignore bool
}

func (f keyLines) lines(text []byte) (list []line) {
	table := ""
	for at := 0; at < len(text); {
		l := line{start: at, end: len(text)}
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			l.end = at + n + 1
		}
		row := bytes.TrimRight(text[at:l.end], "\r\n")
		blank := bytes.TrimSpace(row)
		l.ignore = len(blank) == 0 || blank[0] == '#'
		if f.header != nil && len(blank) > 0 && blank[0] == '[' {
			table, l.header = "[[", true
			if m := f.header.FindSubmatch(row); m != nil {
				table = plainTable.Replace(string(m[1]))
			}
		} else if m := f.key.FindSubmatchIndex(row); m != nil && !l.ignore {
			l.name, l.from, l.to = strings.Trim(string(row[m[2]:m[3]]), `"'`), at+m[4], at+m[5]
		}
		l.table = table
		list, at = append(list, l), l.end
	}
	return list
}

// plainTable writes the name of a table in one way: [ a . "b" ] is a.b.
var plainTable = strings.NewReplacer(" ", "", "\t", "", `"`, "", "'", "")

// find returns the last of several, which is the one that readers of .env take; elsewhere there is one.
func (s lineSyntax) find(text []byte, st step) (from, to int, ok bool, err error) {
	if len(st.Key) > 1 && !s.tables {
		return 0, 0, false, fmt.Errorf("%s: only keys at the top can be set", strings.Join(st.Key, "."))
	}
	table, name := st.table()
	for _, l := range s.lines(text) {
		if l.table == table && l.name == name {
			from, to, ok = l.from, l.to, true
		}
	}
	return from, to, ok, nil
}

// table is the name of the table around a step's key, and its own.
func (st step) table() (table, name string) {
	last := len(st.Key) - 1
	return strings.Join(st.Key[:last], "."), st.Key[last]
}

func (s lineSyntax) insert(text []byte, st step, value any) (step, error) {
	written, err := s.encode(value, 0, text)
	if err != nil {
		return step{}, err
	}
	end := lineEnd(text)
	table, name := st.table()
	added := name + s.sep + written + end
	st.Value, st.At = written, -1
	for _, l := range s.lines(text) { // behind the last key of its table
		if l.table == table && (l.header || !l.ignore) {
			st.At = l.end
		}
	}
	switch {
	case st.At < 0 && table == "" && s.tables: // before the first table
		st.At = 0
	case st.At < 0 && table == "":
		st.At = len(text)
	case st.At < 0:
		st.At, st.Made = len(text), 1
		added = "[" + table + "]" + end + added
		if len(text) > 0 {
			added = end + added
		}
	}
	if st.At > 0 && text[st.At-1] != '\n' {
		added = end + added
	}
	st.New = added
	return st, nil
}

// lineEnd is how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (s lineSyntax) remove(text []byte, st step) []byte {
	table, name := st.table()
	var gone, header line
	others, before := 0, line{}
	for _, l := range s.lines(text) {
		switch {
		case l.table == table && l.name == name:
			gone = l
		case l.table == table && l.header:
			if header = l; before.end > before.start && len(bytes.TrimSpace(text[before.start:before.end])) == 0 {
				header.start = before.start // the blank line that came with it
			}
		case l.table == table && !l.ignore:
			others++
		}
		before = l
	}
	text = splice(text, gone.start, string(text[gone.start:gone.end]), "")
	if st.Made > 0 && others == 0 && header.end > header.start {
		text = splice(text, header.start, string(text[header.start:header.end]), "")
	}
	return text
}

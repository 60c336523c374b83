// Package shell splits scripts of sh, bash, zsh and PowerShell into simple commands with
// their words and redirections. It expands nothing and runs nothing.
package shell

import (
	"slices"
	"strconv"
	"strings"
)

// Command is one simple command of a script: what is run with which words, where its
// output goes, and which operator joins it to the command before it.
type Command struct {
	Assigns   []string // NAME=value in front of the command, as written
	Words     []Word
	Redirects []Redirect
	Heredoc   string // what the script feeds to it
	Sep       string // the operator before it: "", ";", "&&", "||", "|" or "&"
	Nested    bool   // is in a substitution: $(…), `…`, <(…)
	Sub       int    // how many parentheses it is in, each a shell of its own
}

// Word is a word of a command.
type Word struct {
	Text string // without its quotes
	Raw  string // as written
	Open bool   // has expansions in it, so that the command sees another text
}

// Redirect sends a stream to a file, or reads it from there.
type Redirect struct {
	Op     string
	Target Word
}

// Name is the command's program without its directory, empty if there is none.
func (c *Command) Name() string {
	if len(c.Words) == 0 || c.Words[0].Open {
		return ""
	}
	w := c.Words[0].Text
	return w[strings.LastIndexByte(w, '/')+1:]
}

// Args returns the texts of the words after the program.
func (c *Command) Args() []string {
	var list []string
	for _, w := range c.Words[min(1, len(c.Words)):] {
		list = append(list, w.Text)
	}
	return list
}

// Bounds that keep any script cheap. What lies beyond them is left out, and [Script.Cut]
// says so.
const (
	MaxScript   = 64 << 10
	MaxCommands = 256
	maxWords    = 1024 // of one command
	MaxNesting  = 8
)

// Script is a parsed script.
type Script struct {
	Commands []Command
	Flow     bool // has control flow, functions or subshells: its text alone says what it does
	Cut      bool // went beyond the bounds
	Broken   bool // ends in the middle of quotes or a substitution
}

// Parse reads a script in the language of sh, bash and zsh. It is a lexer with just
// enough grammar to tell commands apart. It never fails: from what is not a script it
// makes commands of some kind. With literal set, backslashes do not quote, as in
// PowerShell and cmd.
func Parse(src string, literal bool) Script {
	p := parser{src: src, literal: literal}
	if len(src) > MaxScript {
		p.src, p.out.Cut = src[:MaxScript], true
	}
	p.list(0)
	return p.out
}

// First reads the first command of a script, up to the next sign that ends one. What it is
// part of does not count.
func First(src string) Command {
	var cur Command
	for p := (parser{src: src}); p.at < len(src); {
		switch c := src[p.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\\' && p.peek(1) == '\n': // goes on in the next line
			p.at += 2
		case strings.IndexByte("\n;|()", c) >= 0, c == '&' && p.peek(1) != '>':
			return cur
		case (c == '<' || c == '>') && p.peek(1) != '(' || c == '&':
			p.redirect(&cur, p.operator())
		default:
			p.command(&cur)
		}
	}
	return cur
}

type parser struct {
	src     string
	at      int
	depth   int
	sub     int
	literal bool
	ticks   bool // in `…`, which the next ` ends
	docs    []pendingDoc
	out     Script
}

// pendingDoc is a here-document whose text begins after the next line feed.
type pendingDoc struct {
	cmd   int // index of its command, negative if that was dropped
	delim string
	tabs  bool
}

// list reads commands up to the closing byte, or the end.
func (p *parser) list(closing byte) {
	cur := Command{Nested: p.depth > 0, Sub: p.sub}
	flush := func(sep string) {
		p.finish(cur)
		cur = Command{Nested: p.depth > 0, Sub: p.sub, Sep: sep}
	}
	closed := closing == 0
	for p.at < len(p.src) {
		c := p.src[p.at]
		if c == closing && closing != 0 {
			p.at++
			closed = true
			break
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\\' && p.peek(1) == '\n' && !p.literal: // goes on in the next line
			p.at += 2
		case c == '\n':
			p.at++
			flush(";")
			p.readDocs()
		case c == '#':
			p.skipLine()
		case c == '(' || c == ')':
			p.out.Flow = true
			if p.at++; c == '(' {
				p.sub++
			} else {
				p.sub = max(p.sub-1, 0)
			}
			flush(";")
		case p.literal && (c == '{' || c == '}'):
			p.out.Flow = true
			p.at++
			flush(";")
		case strings.IndexByte(";&|", c) >= 0 || (c == '<' || c == '>') && p.peek(1) != '(':
			if op := p.operator(); strings.ContainsAny(op, "<>") {
				p.redirect(&cur, op)
			} else {
				flush(op)
			}
		default:
			p.command(&cur)
		}
	}
	p.finish(cur)
	p.out.Broken = p.out.Broken || !closed
	if closing == 0 {
		p.readDocs()
	}
}

// command adds a word to the current command; words that only steer are left out.
func (p *parser) command(cur *Command) {
	w := p.word()
	isStream := w.Raw != "" && strings.Trim(w.Raw, "0123456789") == "" || p.literal && w.Raw == "*"
	if next := p.peek(0); isStream && (next == '<' || next == '>') {
		return
	}
	if len(cur.Words) == 0 {
		switch w.Raw {
		case "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "done", "fi", "esac":
			p.out.Flow = p.out.Flow || w.Raw != "!"
			return
		case "for", "case", "select", "function":
			p.out.Flow = true
		}
		if name, _, ok := strings.Cut(w.Raw, "="); ok && IsVariable(name) {
			cur.Assigns = append(cur.Assigns, w.Raw)
			return
		}
	}
	if len(cur.Words) == maxWords {
		p.out.Cut = true
		return
	}
	cur.Words = append(cur.Words, w)
}

// IsVariable reports whether s can be the name of a variable.
func IsVariable(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) || i == 0 && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// finish adds a command to the script unless it is empty.
func (p *parser) finish(cur Command) {
	if len(cur.Words) == 0 && len(cur.Redirects) == 0 && len(cur.Assigns) == 0 {
		for i := range p.docs {
			if p.docs[i].cmd == len(p.out.Commands) {
				p.docs[i].cmd = -1
			}
		}
		return
	}
	if len(p.out.Commands) == MaxCommands {
		p.out.Cut = true
		return
	}
	p.out.Commands = append(p.out.Commands, cur)
}

func (p *parser) peek(n int) byte {
	if p.at+n < len(p.src) {
		return p.src[p.at+n]
	}
	return 0
}

func (p *parser) skipLine() {
	if i := strings.IndexByte(p.src[p.at:], '\n'); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.src)
	}
}

// operators separate commands or redirect streams. Longer ones come first.
var operators = []string{
	"<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">", "&>>", "&>", "&&", "&", "||", "|&", "|", ";;", ";",
}

// operator reads an operator and gives equal ones one name.
func (p *parser) operator() string {
	i := slices.IndexFunc(operators, func(op string) bool { return strings.HasPrefix(p.src[p.at:], op) })
	op := operators[i]
	p.at += len(op)
	if op == "|&" || op == ";;" {
		op = op[:1]
	}
	return op
}

func (p *parser) redirect(cur *Command, op string) {
	for p.peek(0) == ' ' || p.peek(0) == '\t' {
		p.at++
	}
	if c := p.peek(0); c == '\n' || c == 0 {
		return
	}
	w := p.word()
	if len(cur.Redirects) == MaxCommands {
		p.out.Cut = true
		return
	}
	if op == "<<" || op == "<<-" {
		p.docs = append(p.docs, pendingDoc{len(p.out.Commands), w.Text, op == "<<-"})
	}
	if op == "<<<" {
		cur.Heredoc = w.Text
	}
	cur.Redirects = append(cur.Redirects, Redirect{op, w})
}

// readDocs reads the here-documents announced on the line that just ended.
func (p *parser) readDocs() {
	docs := p.docs
	p.docs = nil
	for _, d := range docs {
		start, end := p.at, len(p.src)
		for p.at < len(p.src) {
			lineAt := p.at
			p.skipLine()
			line := strings.TrimSuffix(p.src[lineAt:p.at], "\r")
			p.at = min(p.at+1, len(p.src))
			if d.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == d.delim {
				end = lineAt
				break
			}
		}
		if d.cmd >= 0 && d.cmd < len(p.out.Commands) && start <= end {
			doc := p.src[start:end]
			if d.tabs {
				doc = withoutTabs(doc)
			}
			p.out.Commands[d.cmd].Heredoc = doc
		}
	}
}

// withoutTabs takes off the tabs that lines begin with.
func withoutTabs(doc string) string {
	var b strings.Builder
	for line := range strings.Lines(doc) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}

// word reads one word. It always moves forward.
func (p *parser) word() Word {
	start := p.at
	var b strings.Builder
	open := false
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
		case c == '`' && p.ticks && p.at > start:
			return Word{b.String(), p.src[start:p.at], open}
		// PowerShell's here-string.
		case p.literal && c == '@' && p.at == start && (p.peek(1) == '\'' || p.peek(1) == '"'):
			text, rest, _ := strings.Cut(p.src[p.at+2:], "\n"+p.src[p.at+1:p.at+2]+"@")
			p.at = len(p.src) - len(rest)
			b.WriteString(text)
			open = open || strings.Contains(text, "$")
		case c == '\'':
			p.at++
			b.WriteString(p.until('\''))
		case c == '"':
			p.at++
			open = p.doubleQuoted(&b) || open
		case c == '\\' && !p.literal:
			if p.at++; p.peek(0) != '\n' && p.at < len(p.src) {
				b.WriteByte(p.src[p.at])
			}
			p.at++
		case c == '$' || c == '`' || (c == '<' || c == '>') && p.at == start && p.peek(1) == '(':
			open = p.expansion(&b) || open
		case strings.IndexByte(" \t\r\n;&|<>()", c) >= 0, p.literal && (c == '{' || c == '}'):
			if p.at == start {
				p.at++
				b.WriteByte(c)
			}
			return Word{b.String(), p.src[start:p.at], open}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	p.at = min(p.at, len(p.src))
	return Word{b.String(), p.src[start:p.at], open}
}

// until returns the text before the next such byte and moves past it.
func (p *parser) until(c byte) string {
	text, rest, ok := strings.Cut(p.src[min(p.at, len(p.src)):], string(c))
	p.at = len(p.src) - len(rest)
	p.out.Broken = p.out.Broken || !ok
	return text
}

func (p *parser) doubleQuoted(b *strings.Builder) (open bool) {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return open
		case c == '\\' && !p.literal && p.at+1 < len(p.src):
			next := p.src[p.at+1]
			if strings.IndexByte("\"\\$`\n", next) < 0 {
				b.WriteByte(c)
			}
			if next != '\n' { // which goes on in the next line
				b.WriteByte(next)
			}
			p.at += 2
		case c == '$' || c == '`' && !p.literal:
			open = p.expansion(b) || open
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	p.out.Broken = true
	return open
}

// expansion reads what the shell would replace, and the commands in it. It reports
// whether there was any such thing.
func (p *parser) expansion(b *strings.Builder) bool {
	start := p.at
	c, next := p.src[p.at], p.peek(1)
	switch {
	case c == '`' && p.literal: // PowerShell's escape
		p.at += 2
		return false
	case c == '`':
		p.at++
		p.nest('`')
	case next == '(' && p.peek(2) == '(' && c == '$':
		_, rest, ok := strings.Cut(p.src[p.at:], "))")
		p.at = len(p.src) - len(rest)
		p.out.Broken = p.out.Broken || !ok
	case next == '(':
		p.at += 2
		p.nest(')')
	case next == '{':
		p.until('}')
	case next == '\'': // $'…' has its own escapes
		p.at += 2
		for ; p.at < len(p.src) && p.src[p.at] != '\''; p.at++ {
			if p.src[p.at] == '\\' {
				p.at++
			}
		}
		p.at = min(p.at, len(p.src))
		p.out.Broken = p.out.Broken || p.at == len(p.src)
		b.WriteString(p.src[start+2 : p.at])
		p.at = min(p.at+1, len(p.src))
		return false
	case isNameByte(next) || next != 0 && strings.IndexByte("?!#@*$-", next) >= 0:
		p.at += 2
		for isNameByte(next) && isNameByte(p.peek(0)) {
			p.at++
		}
	default:
		p.at++
		b.WriteByte(c)
		return false
	}
	p.at = min(p.at, len(p.src))
	b.WriteString(p.src[start:p.at])
	return true
}

// nest reads a substitution's commands up to its closing byte.
func (p *parser) nest(closing byte) {
	if p.depth == MaxNesting {
		p.out.Cut = true
		p.until(closing)
		return
	}
	docs, ticks, before := p.docs, p.ticks, len(p.out.Commands)
	p.docs, p.ticks = nil, closing == '`'
	p.depth++
	p.list(closing)
	p.depth--
	p.ticks = ticks
	for i := range docs { // the command that holds the substitution comes after its parts
		if docs[i].cmd == before {
			docs[i].cmd = len(p.out.Commands)
		}
	}
	p.docs = append(docs, p.docs...)
}

// LineRange reads the line range of a sed script that prints lines, such as 10,20p.
func LineRange(script string) (first, last int, ok bool) {
	body, ok := strings.CutSuffix(strings.TrimSpace(script), "p")
	if !ok {
		return 0, 0, false
	}
	from, to, ranged := strings.Cut(body, ",")
	first, err := strconv.Atoi(strings.TrimSpace(from))
	if err != nil || first < 0 {
		return 0, 0, false
	}
	if !ranged {
		return first, first, true
	}
	if to = strings.TrimSpace(to); to == "$" {
		return first, 0, true
	}
	last, err = strconv.Atoi(to)
	return first, last, err == nil && last >= first
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

package shell

import (
	"slices"
	"strings"
)

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

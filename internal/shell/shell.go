package shell

import (
	"strconv"
	"strings"
)

// A shellCmd is one simple command of a shell script, as far as the ledger cares: what
// is run with which words, where its output goes, and how it hangs together with the
// command before it. Nothing is expanded.
type Command struct {
	Assigns []string // NAME=value in front of the command, as written
	Words   []Word
	Redirs  []Redirect
	Heredoc string // what the script feeds to it
	Sep     string // the operator before it: "", ";", "&&", "||", "|" or "&"
	Nested  bool   // stands in a substitution: $(…), `…`, <(…)
}

// A shellWord is a word without its quotes. An open word has expansions in it, so that
// its text is not what the command gets to see.
type Word struct {
	Text, Raw string
	Open      bool
}

// A shellRedir is a redirection of a stream to or from a file.
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
	if len(c.Words) == 0 {
		return nil
	}
	list := make([]string, 0, len(c.Words)-1)
	for _, w := range c.Words[1:] {
		list = append(list, w.Text)
	}
	return list
}

// Bounds that keep any script cheap. What lies beyond them is not looked at, and the
// command then counts as one that does more than is known.
const (
	MaxScript   = 64 << 10
	MaxCommands = 256
	maxWords    = 1024 // of one command
	MaxNesting  = 8
)

// shellScript is a parsed script.
type Script struct {
	Cmds []Command
	Flow bool // has control flow, functions or subshells: its text alone says what it does
	Cut  bool // went beyond the bounds
}

// parseShell reads a script in the language of sh, bash and zsh. It is a lexer with just
// enough grammar to tell commands apart: it never fails, and of what is not a script it
// makes some commands or other. With literal backslashes (PowerShell, cmd) only quotes
// quote.
func Parse(src string, literal bool) Script {
	p := shellParser{src: src, literal: literal}
	if len(src) > MaxScript {
		p.src, p.out.Cut = src[:MaxScript], true
	}
	p.list(0)
	return p.out
}

type shellParser struct {
	src     string
	at      int
	depth   int
	literal bool
	docs    []pendingDoc
	out     Script
}

// A pendingDoc is a here-document whose text begins after the next line feed.
type pendingDoc struct {
	cmd   int // index of its command, negative if that was dropped
	delim string
	tabs  bool
}

// list reads commands up to the closing byte, or the end.
func (p *shellParser) list(closing byte) {
	cur := Command{Nested: p.depth > 0}
	flush := func(sep string) {
		p.finish(cur)
		cur = Command{Nested: p.depth > 0, Sep: sep}
	}
	for p.at < len(p.src) {
		c := p.src[p.at]
		if c == closing && closing != 0 {
			p.at++
			break
		}
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\n':
			p.at++
			flush(";")
			p.readDocs()
		case c == '#':
			p.skipLine()
		case c == ';' || c == '&' || c == '|':
			if op := p.operator(); op == "&>" || op == "&>>" {
				p.redirect(&cur, op)
			} else {
				flush(op)
			}
		case c == '(' || c == ')':
			p.out.Flow = true
			p.at++
			flush(";")
		case c == '<' || c == '>':
			if p.peek(1) == '(' {
				p.command(&cur)
				continue
			}
			p.redirect(&cur, p.angle())
		default:
			p.command(&cur)
		}
	}
	p.finish(cur)
	if closing == 0 {
		p.readDocs()
	}
}

// command adds a word to the current command; words that only steer are left out.
func (p *shellParser) command(cur *Command) {
	w := p.word()
	if next := p.peek(0); (next == '<' || next == '>') && w.Raw != "" && strings.Trim(w.Raw, "0123456789") == "" {
		return // the number of a stream
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

func IsVariable(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) || i == 0 && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}

// finish adds a command to the script if there is anything to it.
func (p *shellParser) finish(cur Command) {
	if len(cur.Words) == 0 && len(cur.Redirs) == 0 && len(cur.Assigns) == 0 {
		for i := range p.docs {
			if p.docs[i].cmd == len(p.out.Cmds) {
				p.docs[i].cmd = -1
			}
		}
		return
	}
	if len(p.out.Cmds) == MaxCommands {
		p.out.Cut = true
		return
	}
	p.out.Cmds = append(p.out.Cmds, cur)
}

func (p *shellParser) peek(n int) byte {
	if p.at+n < len(p.src) {
		return p.src[p.at+n]
	}
	return 0
}

func (p *shellParser) skipLine() {
	if i := strings.IndexByte(p.src[p.at:], '\n'); i >= 0 {
		p.at += i
	} else {
		p.at = len(p.src)
	}
}

// operator reads ; & && | || |& &> &>> and gives equal ones one name.
func (p *shellParser) operator() string {
	two := p.src[p.at:min(p.at+2, len(p.src))]
	switch two {
	case "&>":
		p.at += 2
		if p.peek(0) == '>' {
			p.at++
			return "&>>"
		}
		return two
	case "&&", "||":
		p.at += 2
		return two
	case "|&":
		p.at += 2
		return "|"
	case ";;":
		p.at += 2
		return ";"
	}
	p.at++
	return two[:1]
}

// angle reads an operator that begins with an angle bracket.
func (p *shellParser) angle() string {
	for _, op := range []string{"<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"} {
		if strings.HasPrefix(p.src[p.at:], op) {
			p.at += len(op)
			return op
		}
	}
	p.at++
	return ""
}

// redirect reads the target of a redirection.
func (p *shellParser) redirect(cur *Command, op string) {
	for p.peek(0) == ' ' || p.peek(0) == '\t' {
		p.at++
	}
	if c := p.peek(0); c == '\n' || c == 0 {
		return
	}
	w := p.word()
	if len(cur.Redirs) == MaxCommands {
		p.out.Cut = true
		return
	}
	if op == "<<" || op == "<<-" {
		p.docs = append(p.docs, pendingDoc{len(p.out.Cmds), w.Text, op == "<<-"})
	}
	if op == "<<<" {
		cur.Heredoc = w.Text
	}
	cur.Redirs = append(cur.Redirs, Redirect{op, w})
}

// readDocs reads the here-documents announced on the line that just ended.
func (p *shellParser) readDocs() {
	docs := p.docs
	p.docs = nil
	for _, d := range docs {
		start := p.at
		end := len(p.src)
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
		if d.cmd >= 0 && d.cmd < len(p.out.Cmds) && start <= end {
			p.out.Cmds[d.cmd].Heredoc = p.src[start:end]
		}
	}
}

// word reads one word. It always moves forward.
func (p *shellParser) word() Word {
	start := p.at
	var b strings.Builder
	open := false
	for p.at < len(p.src) {
		c := p.src[p.at]
		switch {
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
		case strings.IndexByte(" \t\r\n;&|<>()", c) >= 0:
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

// until returns the text before the next such byte and moves behind that.
func (p *shellParser) until(c byte) string {
	rest := p.src[min(p.at, len(p.src)):]
	i := strings.IndexByte(rest, c)
	if i < 0 {
		p.at = len(p.src)
		return rest
	}
	p.at += i + 1
	return rest[:i]
}

func (p *shellParser) doubleQuoted(b *strings.Builder) (open bool) {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case c == '"':
			p.at++
			return open
		case c == '\\' && !p.literal && p.at+1 < len(p.src):
			if next := p.src[p.at+1]; strings.IndexByte("\"\\$`\n", next) < 0 {
				b.WriteByte(c)
			}
			b.WriteByte(p.src[p.at+1])
			p.at += 2
		case c == '$' || c == '`' && !p.literal:
			open = p.expansion(b) || open
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return open
}

// expansion reads what the shell would replace, and the commands in it. It reports
// whether there was any such thing.
func (p *shellParser) expansion(b *strings.Builder) bool {
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
		if i := strings.Index(p.src[p.at:], "))"); i >= 0 {
			p.at += i + 2
		} else {
			p.at = len(p.src)
		}
	case next == '(':
		p.at += 2
		p.nest(')')
	case next == '{':
		p.until('}')
	case next == '\'': // $'…' has its own escapes
		p.at += 2
		for p.at < len(p.src) && p.src[p.at] != '\'' {
			if p.src[p.at] == '\\' {
				p.at++
			}
			p.at++
		}
		p.at = min(p.at, len(p.src))
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
func (p *shellParser) nest(closing byte) {
	if p.depth == MaxNesting {
		p.out.Cut = true
		p.until(closing)
		return
	}
	docs, before := p.docs, len(p.out.Cmds)
	p.docs = nil
	p.depth++
	p.list(closing)
	p.depth--
	for i := range docs { // the command that holds the substitution comes after its parts
		if docs[i].cmd == before {
			docs[i].cmd = len(p.out.Cmds)
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

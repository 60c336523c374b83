package shell

import (
	"strings"
)

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

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

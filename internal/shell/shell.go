// Package shell splits scripts of sh, bash, zsh and PowerShell into simple commands with
// their words and redirections. It expands nothing and runs nothing.
package shell

import (
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

package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/glob"
)

// Rules decide about tool calls without asking. A rule is a tool's name, alone or with a
// pattern for what the call is about:
//
//	read_file                every call of the tool
//	bash(git status*)        commands; * stands for anything
//	bash(go test ./...)      this command and no other
//	write_file(src/**)       paths in the workspace; ** stands for any number of folders
//	*                        everything
//
// A rule for commands holds for simple commands. Of commands joined by &&, ||, ; or | each
// must be allowed. What a pattern cannot judge (substitutions, redirections into files,
// subshells, variables, several lines) is never allowed by one. The zero value decides
// nothing.
type Rules struct {
	Allow []string `json:"allow,omitempty"` // calls that run without asking; nil: none
	// Deny wins over Allow. A command is denied if any command in it is, wherever and however
	// its text spells that out, and if it runs something that its text does not spell out:
	// a name in a variable, a script from a pipe. What other programs do with their
	// arguments and files is theirs: no rule sees it.
	Deny []string `json:"deny,omitempty"`
}

type rule struct {
	tool    string
	narrow  bool // it has a pattern
	pattern string
	path    *regexp.Regexp // the pattern for paths; nil in a rule for commands
	lower   *regexp.Regexp // the same in lower case
}

var ruleForm = regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+|\*)\s*(?:\((.*)\))?\s*$`)

func parseRule(s string) (r rule, err error) {
	m := ruleForm.FindStringSubmatchIndex(s)
	if m == nil {
		return rule{}, fmt.Errorf("read rule %q: want a tool, or a tool and a pattern as in bash(git status*)", s)
	}
	r.tool = s[m[2]:m[3]]
	if m[4] < 0 {
		return r, nil
	}
	r.narrow, r.pattern = true, s[m[4]:m[5]]
	if r.tool != toolBash {
		r.path, err = glob.Compile(r.pattern)
		if err == nil {
			r.lower, err = glob.Compile(strings.ToLower(r.pattern))
		}
		if err != nil {
			return rule{}, fmt.Errorf("read rule %q: %w", s, err)
		}
	}
	return r, nil
}

// Check reports the first rule that cannot be read.
func (rs Rules) Check() error {
	for _, s := range slices.Concat(rs.Allow, rs.Deny) {
		if _, err := parseRule(s); err != nil {
			return err
		}
	}
	return nil
}

// Decide returns whether the rules allow or deny a call, and which rule denied it. known
// is false if no rule says anything about it.
func (rs Rules) Decide(c Call) (d Decision, known bool) {
	if reason := rs.denied(c); reason != "" {
		return Decision{Reason: reason}, true
	}
	open, ok := []string{c.Subject}, true // what no rule has allowed yet
	if c.Name == toolBash {
		open, ok = commandParts(c.Subject)
	}
	for _, s := range rs.Allow {
		r, err := parseRule(s)
		if err != nil || !r.names(c) {
			continue
		}
		if !r.narrow || c.Name == toolBash && r.pattern == "*" {
			return Decision{Allow: true}, true
		}
		open = slices.DeleteFunc(open, func(part string) bool { return r.matches(c, part) })
	}
	ok = ok && len(open) == 0
	return Decision{Allow: ok}, ok
}

// Permit makes the rules an answer for [Options.Permit]. Calls that they say nothing about
// go to next; nil: they are refused.
func (rs Rules) Permit(
	next func(context.Context, Call) (Decision, error),
) func(context.Context, Call) (Decision, error) {
	return func(ctx context.Context, c Call) (Decision, error) {
		if d, known := rs.Decide(c); known {
			return d, nil
		}
		if next == nil {
			return Decision{Reason: "no rule allows it"}, nil
		}
		return next(ctx, c)
	}
}

func (r rule) names(c Call) bool { return r.tool == "*" || r.tool == c.Name }

// matches reports whether a rule that names the call's tool holds for a part of what the
// call is about.
func (r rule) matches(c Call, part string) bool {
	if c.Name == toolBash {
		return overlap(r.pattern, part)
	}
	return part != "" && r.path.MatchString(part)
}

// denied says which rule denies a call and why. Empty: none does.
func (rs Rules) denied(c Call) string {
	var run *spelled
	for _, s := range rs.Deny {
		r, err := parseRule(s)
		switch {
		case err == nil && !r.names(c):
			continue
		case err != nil || !r.narrow: // a rule that cannot be read must not let anything through
			return "the rule " + s + " forbids it"
		case c.Name != toolBash:
			if r.deniesPath(c.Subject) {
				return "the rule " + s + " forbids it"
			}
			continue
		case run == nil:
			run = spell(c.Subject)
		}
		matches := func(text string) bool { return r.matches(c, text) || r.matches(c, text+" ") }
		switch {
		case r.matches(c, c.Subject), slices.ContainsFunc(run.texts, matches):
			return "the rule " + s + " forbids it (what is not spelled out counts as anything)"
		case run.hides:
			return "the rule " + s + " may forbid it: what it runs cannot be read from its text"
		}
	}
	return ""
}

// deniesPath errs on the side of denying: some file systems take upper and lower case for
// the same.
func (r rule) deniesPath(name string) bool {
	return r.path.MatchString(name) || r.lower.MatchString(strings.ToLower(name))
}

// may returns whether the agent's rules let the tool have a file that it finds.
func (c Call) may() func(name string) bool {
	var rules []rule
	if c.agent != nil {
		for _, s := range c.agent.o.Deny {
			if r, err := parseRule(s); err == nil && r.names(c) && r.narrow {
				rules = append(rules, r)
			}
		}
	}
	return func(name string) bool {
		return !slices.ContainsFunc(rules, func(r rule) bool { return r.deniesPath(name) })
	}
}

var (
	// plainText has no sign, outside of quotes, that makes a shell do something else.
	plainText = regexp.MustCompile("^(?:'[^'\n\r]*'|\"[^\"$`\\\\!\n\r]*\"|[^'\";|&<>$`(){}\\\\\n\r#!~\\x00])+")
	// harmlessRedirection writes no file.
	harmlessRedirection = regexp.MustCompile(`^(>&[12]|>>?/dev/null|> /dev/null|< ?/dev/null)(?:[ ;|]|$)`)
	// descriptor is the number of a file before a redirection, as a word of its own.
	descriptor = regexp.MustCompile(` \d$`)
	glued      = regexp.MustCompile(`[^ ]\d$`)
	joint      = regexp.MustCompile(`^(?:&&|\|\||[;|])`)
)

// commandParts splits a command line into simple commands, for rules to judge one by one. ok
// is false if anything in it has an effect that its text does not show: substitutions,
// variables, redirections into files, subshells, groups, background jobs, several lines,
// comments, escapes outside of quotes. It errs on the side of false.
func commandParts(line string) (parts []string, ok bool) {
	rest, part := strings.TrimSpace(line), ""
	for rest != "" {
		if text := plainText.FindString(rest); text != "" {
			part, rest = part+text, rest[len(text):]
			continue
		}
		if m := harmlessRedirection.FindStringSubmatch(rest); m != nil && !glued.MatchString(part) {
			part, rest = descriptor.ReplaceAllString(part, ""), rest[len(m[1]):]
			continue
		}
		sign := joint.FindString(rest)
		rest = rest[len(sign):]
		if part = strings.TrimSpace(part); sign == "" || strings.IndexAny(rest, ";|&") == 0 || !simple(part) {
			return nil, false
		}
		if parts, part = append(parts, part), ""; rest == "" && sign == ";" {
			return parts, true
		}
	}
	part = strings.TrimSpace(part)
	return append(parts, part), simple(part)
}

// simple reports whether a part is a command and its arguments: assignments before it
// change what it does, and keywords of the shell are not commands.
func simple(part string) bool {
	word, _, _ := strings.Cut(part, " ")
	if word == "" || strings.ContainsAny(word, "=\t'\"") {
		return false
	}
	switch word {
	case "eval", "exec", "source", ".", "command", "builtin", "if", "then", "else", "elif", "fi", "for", "while",
		"until", "do", "done", "case", "esac", "function", "select", "time", "coproc", "[[", "alias", "trap":
		return false
	}
	return true
}

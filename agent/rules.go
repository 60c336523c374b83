package agent

import (
	"context"
	"fmt"
	"regexp"
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
// must be allowed, and what a pattern cannot judge (substitutions, redirections into
// files, subshells, variables, several lines) is never allowed by one: the program is asked. The zero
// value decides nothing.
type Rules struct {
	Allow []string `json:"allow,omitempty"`
	// Deny wins over Allow. A command is denied if any of its parts is.
	Deny []string `json:"deny,omitempty"`
}

// rule is a rule in parts.
type rule struct {
	tool    string
	pattern string // with has
	has     bool
	paths   *regexp.Regexp // the pattern of a rule that is not for commands
}

var ruleForm = regexp.MustCompile(`^\s*([A-Za-z0-9_.-]+|\*)\s*(?:\((.*)\))?\s*$`)

func parseRule(s string) (rule, error) {
	m := ruleForm.FindStringSubmatchIndex(s)
	if m == nil {
		return rule{}, fmt.Errorf("read rule %q: want a tool, or a tool and a pattern as in bash(git status*)", s)
	}
	r := rule{tool: s[m[2]:m[3]], has: m[4] >= 0}
	if r.has {
		r.pattern = s[m[4]:m[5]]
	}
	if r.has && r.tool != toolBash {
		var err error
		if r.paths, err = glob.Compile(r.pattern); err != nil {
			return rule{}, fmt.Errorf("read rule %q: %w", s, err)
		}
	}
	return r, nil
}

// Check reports the first rule that cannot be read.
func (rs Rules) Check() error {
	for _, list := range [][]string{rs.Allow, rs.Deny} {
		for _, s := range list {
			if _, err := parseRule(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// Decide says whether the rules allow or deny a call, and which rule did; known is false
// if none of them says anything.
func (rs Rules) Decide(c Call) (d Decision, known bool) {
	for _, s := range rs.Deny {
		r, err := parseRule(s)
		if err != nil || r.denies(c) { // a rule that cannot be read must not let anything through
			return Decision{Reason: "the rule " + s + " forbids it"}, true
		}
	}
	if c.Name == toolBash {
		return rs.allowCommand(c)
	}
	for _, s := range rs.Allow {
		if r, err := parseRule(s); err == nil && r.names(c) && (!r.has || r.matches(c.Subject)) {
			return Decision{Allow: true}, true
		}
	}
	return Decision{}, false
}

// Permit makes the rules an answer for [Options.Permit]. Calls that they say nothing about
// go to next; nil: they are refused.
func (rs Rules) Permit(next func(context.Context, Call) (Decision, error)) func(context.Context, Call) (Decision, error) {
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

func (r rule) matches(subject string) bool {
	if r.tool == toolBash {
		return wildcard(r.pattern, subject)
	}
	return subject != "" && r.paths.MatchString(subject)
}

// denies is generous: a command is denied if the pattern matches all of it or any of its
// parts, whatever they are hidden in.
func (r rule) denies(c Call) bool {
	if !r.names(c) {
		return false
	}
	if !r.has || c.Name == toolBash && wildcard(r.pattern, c.Subject) {
		return true
	}
	if c.Name != toolBash {
		return r.matches(c.Subject)
	}
	for _, part := range looseParts(c.Subject) {
		if wildcard(r.pattern, part) {
			return true
		}
	}
	return false
}

// allowCommand allows a command if every part of it is allowed by some rule.
func (rs Rules) allowCommand(c Call) (Decision, bool) {
	var patterns []string
	for _, s := range rs.Allow {
		r, err := parseRule(s)
		if err != nil || !r.names(c) {
			continue
		}
		if !r.has || r.pattern == "*" {
			return Decision{Allow: true}, true
		}
		patterns = append(patterns, r.pattern)
	}
	parts, ok := commandParts(c.Subject)
	if !ok || len(parts) == 0 {
		return Decision{}, false
	}
	for _, part := range parts {
		allowed := false
		for _, p := range patterns {
			allowed = allowed || wildcard(p, part)
		}
		if !allowed {
			return Decision{}, false
		}
	}
	return Decision{Allow: true}, true
}

// wildcard matches a text with a pattern in which * stands for anything.
func wildcard(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(piece):], after
	}
}

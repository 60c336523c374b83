package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/glob"
	"github.com/pleat-dev/pleat/internal/shell"
)

// Rules allow tool calls without asking. A rule is a tool's name, alone or with what the call
// is about:
//
//	read_file                every call of the tool
//	bash(make && make test)  this command line and no other
//	bash(git status*)        a single simple command that begins so
//	write_file(src/**)       paths in the workspace; ** stands for any number of folders
//	*                        everything
//
// A simple command is a program with its arguments: no pipes, lists, substitutions, variables,
// redirections, groups, assignments or comments. The zero value allows nothing.
type Rules struct {
	Allow []string `json:"allow,omitempty"` // nil: none
}

type rule struct {
	tool    string
	narrow  bool // it has a pattern
	pattern string
	path    *regexp.Regexp // the pattern for paths; nil in a rule for commands
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
		if r.path, err = glob.Compile(r.pattern); err != nil {
			return rule{}, fmt.Errorf("read rule %q: %w", s, err)
		}
	}
	return r, nil
}

// Check reports the first rule that cannot be read.
func (rs Rules) Check() error {
	for _, s := range rs.Allow {
		if _, err := parseRule(s); err != nil {
			return err
		}
	}
	return nil
}

// Allows reports whether a rule allows a call. One that cannot be read allows nothing.
func (rs Rules) Allows(c Call) bool {
	return slices.ContainsFunc(rs.Allow, func(s string) bool {
		r, err := parseRule(s)
		return err == nil && (r.tool == "*" || r.tool == c.Name) && (!r.narrow || r.matches(c))
	})
}

// Permit makes the rules an answer for [Options.Permit]. Calls that they do not allow go to
// next; nil: they are refused.
func (rs Rules) Permit(
	next func(context.Context, Call) (Decision, error),
) func(context.Context, Call) (Decision, error) {
	return func(ctx context.Context, c Call) (Decision, error) {
		if rs.Allows(c) {
			return Decision{Allow: true}, nil
		}
		if next == nil {
			return Decision{Reason: "no rule allows it"}, nil
		}
		return next(ctx, c)
	}
}

// matches reports whether the pattern of a rule that names the call's tool holds for the call.
func (r rule) matches(c Call) bool {
	if r.path != nil {
		return c.Name != toolBash && c.Subject != "" && r.path.MatchString(c.Subject)
	}
	line := strings.Trim(c.Subject, " \t\n")
	start, open := strings.CutSuffix(r.pattern, "*")
	return line == r.pattern || open && strings.HasPrefix(line, start) && simple(line, false) && simple(line, true)
}

// simple reports whether a line is one simple command, as sh reads it, or, with literal set,
// PowerShell: nothing but words that the shell leaves as they are.
func simple(line string, literal bool) bool {
	parsed := shell.Parse(line, literal)
	if len(parsed.Commands) != 1 || parsed.Flow || parsed.Cut || parsed.Broken {
		return false
	}
	for _, w := range parsed.Commands[0].Words {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), w.Raw)
		if !ok || w.Open {
			return false
		}
		line = rest
	}
	return line == ""
}

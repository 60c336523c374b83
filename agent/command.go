package agent

import (
	"regexp"
	"strings"
)

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
	case "eval", "exec", "source", ".", "command", "builtin", "if", "then", "else", "elif", "fi", "for", "while", "until",
		"do", "done", "case", "esac", "function", "select", "time", "coproc", "[[", "alias", "trap":
		return false
	}
	return true
}

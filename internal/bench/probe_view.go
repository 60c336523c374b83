package bench

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// illegal names what a view breaks that its session did not: by the rules that all wires
// share, by Anthropic's and by those of Chat Completions.
func illegal(v transcript.View, t *transcript.Transcript) []string {
	var out []string
	for _, bad := range v.Check(t) {
		out = append(out, bad.String())
	}
	for name, check := range map[string]func(transcript.View, *transcript.Transcript) error{
		"anthropic": anthropic.Checker(model.Model{}), "chat": openai.ChatChecker(model.Model{}),
	} {
		if err := check(v, t); err != nil {
			out = append(out, name+": "+err.Error())
		}
	}
	slices.Sort(out)
	return out
}

// sourceNames are the exact strings of a session, to hold inventions against.
type sourceNames struct {
	text  string
	names map[string]bool
}

func namesOf(msgs []transcript.Message) sourceNames {
	var b strings.Builder
	s := sourceNames{names: make(map[string]bool)}
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			if c, ok := blk.(transcript.ToolCall); ok {
				b.WriteString(c.Name + "\n" + c.ID + "\n" + strings.Join(callKeys(c), "\n") + "\n")
			}
			for _, l := range blockLines(blk) {
				b.WriteString(l)
				b.WriteByte('\n')
			}
			b.WriteString(blockText(blk))
			b.WriteByte('\n')
		}
	}
	s.text = b.String()
	names(s.text, func(tok string) { s.names[tok] = true })
	return s
}

var jsonKey = regexp.MustCompile(`"([\w-]+)"\s*:`)

func callKeys(c transcript.ToolCall) []string {
	var out []string
	for _, m := range jsonKey.FindAllStringSubmatch(c.Input.String(), -1) {
		out = append(out, m[1])
	}
	return out
}

// vocabulary are names that a method may use of its own accord.
var vocabulary = []string{"in_progress", "tool_result", "call_id", "original_tokens", "conversation_summary"}

var (
	madePath  = regexp.MustCompile(`(?:/?[\w@.+-]+/)+[\w@+-]+\.[a-z]{1,4}\b`)
	pathList  = regexp.MustCompile(`[\w/]\{[^{}]*,`) // names that share a folder, as in a/{b,c}
	handleArg = regexp.MustCompile(`\b[a-z0-9]{8,12}\b`)
)

// invented are the paths, names and digests in a method's own words that the session
// does not have.
func invented(s *seen, source sourceNames, handle func(string) bool) (named int, out []string) {
	for _, line := range s.own {
		parts := []string{line}
		if pathList.MatchString(line) {
			parts = splitBraces(line)
		}
		for _, part := range parts {
			for _, p := range madePath.FindAllString(part, -1) {
				if named++; !strings.Contains(source.text, p) {
					out = append(out, p)
				}
			}
		}
		names(line, func(tok string) {
			if strings.Trim(tok, "0123456789") == "" || fileToken.MatchString(tok) ||
				slices.Contains(vocabulary, tok) ||
				handle(tok) {
				return // counts of the method's own; files are judged with their folders
			}
			if named++; !source.names[tok] && !strings.Contains(source.text, tok) {
				out = append(out, tok)
			}
		})
	}
	slices.Sort(out)
	return named, slices.Compact(out)
}

// addShown notes what a reader takes from the calls that a view shows: those of editing
// tools, and plain commands that change, move or remove files, unless it shows that they
// failed. Gold never comes from commands: nobody knows what they did without running them.
func (t trail) addShown(msgs []transcript.Message) {
	for c := range wentWell(msgs) {
		t.addCall(c)
		t.addCommand(commandOf(c))
	}
}

// separators are what commands of one line stand between.
var separators = strings.NewReplacer("&&", "\n", "||", "\n", ";", "\n", "|", "\n")

// addCommand notes what a command line does to files that it names.
func (t trail) addCommand(command string) {
	if strings.Contains(command, "<<") {
		return // the rest is text
	}
	for part := range strings.SplitSeq(separators.Replace(command), "\n") {
		words := strings.Fields(part)
		if len(words) > 1 && words[0] == "git" && (words[1] == "rm" || words[1] == "mv") {
			words = words[1:]
		}
		if len(words) < 2 {
			continue
		}
		var args []string
		for _, w := range words[1:] {
			if w = strings.Trim(w, `"'`); w != "" && w[0] != '-' && !strings.ContainsAny(w, "*$><") {
				args = append(args, w)
			}
		}
		if words[0] == "sed" && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-i") }) &&
			len(args) > 0 {
			t.note(args[len(args)-1], Edited)
		}
		t.addProgram(words[0], args)
	}
}

func (t trail) addProgram(name string, args []string) {
	switch {
	case name == "rm":
		for _, a := range args {
			t.remove(a)
		}
	case (name == "mv" || name == "cp") && len(args) == 2:
		if strings.HasSuffix(args[1], "/") {
			args[1] = path.Join(args[1], path.Base(args[0]))
		}
		if name == "mv" {
			t.remove(args[0])
		}
		t.note(args[1], Created)
	}
}

// remove notes that a file is gone, or a folder with all that was in it.
func (t trail) remove(p string) {
	p = path.Clean(p)
	for q := range t {
		if strings.HasPrefix(q, p+"/") || strings.Contains(q, "/"+p+"/") {
			t[q] = Deleted
		}
		if samePath(p, q) {
			t[q] = Deleted
		}
	}
	t.note(p, Deleted)
}

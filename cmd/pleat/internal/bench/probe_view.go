package bench

import (
	"path"
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

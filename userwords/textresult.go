package userwords

import (
	"strings"

	"github.com/pleat-dev/pleat/internal/toolname"
)

// textResult is what a client that writes tools as text puts above a result, in its block or
// in the one before: "[read_file for 'README.md'] Result:". The zero value is none.
type textResult struct {
	tool string
	sure bool // where it ends: a file's name or the result may hold its mark too
}

// textResultOf reads what begins a block as such a line; result is empty if it is the next block.
func textResultOf(txt string) (head textResult, result string) {
	const mark = "] Result:"
	name, ok := strings.CutPrefix(txt, "[")
	_, result, marked := strings.Cut(name, mark)
	name = name[:max(strings.IndexAny(name, " ]"), 0)]
	if !ok || !marked || !strings.Contains(name, "_") || strings.ContainsFunc(name, notInName) {
		return textResult{}, ""
	}
	if strings.HasSuffix(txt, mark) {
		result = ""
	}
	return textResult{tool: name, sure: strings.Count(txt, mark) == 1}, strings.TrimSpace(result)
}

func notInName(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }

// said returns what a person said in a result that is text: an answer to a question, or why they
// refused. It has to be all of the result, since files can write such elements too; where they can
// be all of it, whoever wrote it is in doubt.
func (t textResult) said(result string) (words, doubt string) {
	class := toolname.Of(t.tool)
	answer, rest, ok := leading(result, "answer")
	if class != toolname.Ask || !ok || rest != "" {
		denied, _ := strings.CutPrefix(result, "The user denied this operation and provided the following feedback:\n")
		if answer, rest, ok = leading(denied, "feedback"); !ok || rest != "" || denied == result {
			return "", ""
		}
	}
	if answer = strings.TrimSpace(answer); t.sure && clientWrites[class] {
		return answer, ""
	}
	return "", answer
}

// clientWrites has the tools whose results begin with words of the client; what others give is a
// file, a page or a program's as it is.
var clientWrites = map[toolname.Class]bool{
	toolname.Shell: true, toolname.List: true, toolname.Search: true, toolname.Write: true, toolname.Edit: true,
	toolname.Todo: true, toolname.Ask: true, toolname.Aside: true,
}

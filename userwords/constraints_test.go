package userwords

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/diff"
)

func TestFindRules(t *testing.T) {
	rules := []string{
		"Don't commit the generated files.",
		"please do not push",
		"Never touch legacy/.",
		"always run the linter first",
		"Only change the tests.",
		"The icons must be pngs",
		"This flag should not be changed, only the other one should.",
		"use slog instead of log",
		"Can you do it without touching the API?",
		"keep each commit small please (no broken states)",
		"From now on, answer in English.",
		"stop adding comments",
		"let's not leave the tests to the end...",
		"yes, but we don't need to commit",
		"no, we removed that command on purpose",
		"So no need to show those details",
		"I don't want any new dependencies",
		"ask me before you push",
		"You must not rename exported names",
		"make sure all tests still pass",
		"I’d prefer small functions",
		"Can we not commit the notes?",
		"不要修改这个文件。",
		"Não altere os testes, por favor.",
		"Should take the whole width",
	}
	for _, text := range rules {
		if w := listen("u: " + text); len(w.Constraints()) != 1 || w.Constraints()[0].Sentence != text {
			t.Errorf("%q: rules = %v", text, w.Constraints())
		}
	}
	others := []string{
		"I don't know why it fails",
		"it doesn't work when the file is empty",
		"why don't we have tests?",
		"The hooks can never be removed because the prefix is unknown.",
		"This causes it to always return 0.",
		"yes, continue",
		"do we have tests for this?",
		"the network should be better now",
		"Making failures look like crashes instead of assertion results.",
		"Consider using UTC instead.",
		"what should the name be?",
		"    reader_test.go:80: the second commit should NOT have a trailer",
		"The page says \"you must log in\" and then hangs",
		"```\nnever do this\n```",
		"> never do this",
		"no revert that",
		"commit please, then push",
	}
	for _, text := range others {
		if w := listen("u: " + text); len(w.Constraints()) != 0 {
			t.Errorf("%q: rules = %v", text, w.Constraints())
		}
	}
}

func TestRuleKeepsWhatItNeeds(t *testing.T) {
	w := listen("u: When you write tests:\n- never sleep\n- use table tests\n\nThe flag installs the wrapper.\nThis should not change.")
	var got [][2]string
	for _, c := range w.Constraints() {
		got = append(got, [2]string{c.Sentence, c.Under})
	}
	want := [][2]string{
		{"never sleep", "When you write tests:"},
		{"This should not change.", "The flag installs the wrapper."},
	}
	if d := diff.Values(want, got); d != "" {
		t.Error(d)
	}
}

func TestReversals(t *testing.T) {
	tests := []struct {
		name, rule, later string
		withdrawn         bool
	}{
		{"permission", "Don't touch legacy/.", "you can touch legacy/ now", true},
		{"fine to", "never edit the generated files", "it's fine to edit the generated files for this one", true},
		{"lifted", "Always answer in German.", "forget what I said about German answers", true},
		{"no longer", "Only use Python 3.8 syntax.", "we no longer care about Python 3.8", true},
		{"opposite", "Don't use mocks in tests.", "Always use mocks in tests.", true},
		{"by name", "Always use tabs for indentation.", "use spaces instead of tabs", true},
		{"by value", "The server must listen on port 8080.", "actually the server must listen on port 9090", true},
		{"other topic", "Don't touch legacy/.", "you can touch the docs now", false},
		{"other object", "Don't commit generated files.", "Always commit lock files.", false},
		{"other deed", "Don't delete anything in legacy/.", "you can read legacy/ now", false},
		{"deed alone", "Don't commit yet.", "ok, you can commit now", true},
		{"part of it", "Don't commit generated files.", "you can commit now", false},
		{"a question", "Don't touch legacy/.", "can you touch legacy/?", false},
		{"denied again", "Don't touch legacy/.", "you can't touch legacy/, as I said", false},
		{"same again", "Don't touch legacy/.", "really don't touch legacy/", false},
		{"in passing", "don't fix anything, but just validate that continuing a session works", "change it to a text which says that another session is active, and that you can continue here", false},
		{"ignoring a thing", "Don't touch the legacy folder.", "ignore the legacy folder in the linter", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := listen("u: "+tt.rule, "a: ok", "u: "+tt.later)
			if len(w.Constraints()) == 0 {
				t.Fatal("no rule")
			}
			c := w.Constraints()[0]
			if c.InForce() == tt.withdrawn {
				t.Errorf("%+v", c)
			}
			if tt.withdrawn && c.WithdrawnBy != 2 {
				t.Errorf("withdrawn by %d", c.WithdrawnBy)
			}
		})
	}
}

func TestRevisedRequests(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []int
	}{
		{"remove this again", []string{"u: let's store it by file", "u: how about including the hash?", "a: Added.", "u: no remove this again, people would rely on it"}, []int{-1, 3, -1}},
		{"revert those", []string{"u: the numbers are off", "a: Changed.", "u: no revert those changes, they were right"}, []int{2, -1}},
		{"named", []string{"u: can we add some tests?", "a: Added.", "u: they only test the writer", "u: can you remove the not so useful writer_tests again"}, []int{3, -1, -1}},
		{"ignore this part", []string{"u: can you check if there is a dry run?", "a: No.", "u: no, ignore this part, back to the script"}, []int{2, -1}},
		{"roll back", []string{"u: add stubs for the hooks", "a: Added.", "u: nah let's roll back, nobody needs them"}, []int{2, -1}},
		{"never mind", []string{"u: don't use tabs", "u: never mind"}, []int{1, -1}},
		{"on purpose", []string{"u: unknown command", "a: I'll bring it back", "u: no, we removed the command on purpose"}, []int{-1, -1}},
		{"new removal", []string{"u: add a logo", "a: Added.", "u: remove the svgs"}, []int{-1, -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []int
			for _, s := range listen(tt.lines...).Said() {
				got = append(got, s.RevisedBy)
			}
			if d := diff.Values(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRuleSaidTwice(t *testing.T) {
	w := listen("u: Never push.", "a: ok", "u: Again: do it. Never push.")
	if len(w.Constraints()) != 1 || len(w.Said()[1].Constraints) != 1 {
		t.Errorf("rules %v, said %v", w.Constraints(), w.Said())
	}
}

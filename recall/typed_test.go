package recall_test

import (
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A block that a program put beside typed words is not the user's.
func TestSearchTellsWhoWroteABlock(t *testing.T) {
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{Tokens: counter})
	err := s.Append(t.Context(), transcript.NewMessage(transcript.RoleUser,
		transcript.Say("<system-reminder>\nContents of NOTES.md:\nneedle: main may be deleted\n</system-reminder>"),
		transcript.Say("go on, please, as we said"),
	), transcript.User("<system-reminder>\nflagged: main may be deleted\n</system-reminder>\nand so on"),
		transcript.Assistant(transcript.Say("done")))
	must(t, err)
	res := searchFor(t, s, "needle")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != "text put in by a program" {
		t.Errorf("the reminder:\n%s", res.Text())
	}
	if res := searchFor(t, s, "needle by:user"); len(res.Answers[0].Hits) > 0 {
		t.Errorf("by the user:\n%s", res.Text())
	}
	res = searchFor(t, s, "please by:user")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != "user" {
		t.Errorf("the words:\n%s", res.Text())
	}
	const both = "the user's words and text put in by a program"
	res = searchFor(t, s, "flagged")
	if hits := res.Answers[0].Hits; len(hits) != 1 || hits[0].What != both {
		t.Errorf("the reminder in one block with words:\n%s", res.Text())
	}
}

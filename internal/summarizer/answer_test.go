package summarizer

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// TestShortWithoutTags tells the model, when it is asked again, what its answer lacks.
func TestShortWithoutTags(t *testing.T) {
	said := "The limit of 4096 in pkg/file1.go was wrong."
	reply := model.Reply{
		Messages: []transcript.Message{transcript.Assistant(transcript.Say(said))}, Stop: model.StopEnd,
	}
	txt, f := answerText(reply, false)
	if txt != "" || len(f) != 1 || !strings.Contains(f[0].What, "without <digest> tags") {
		t.Errorf("%q, %+v", txt, f)
	}
}

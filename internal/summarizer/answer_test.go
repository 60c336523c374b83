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
	if txt, f := answerText(reply, false); txt != "" || f == nil || !strings.Contains(f.What, "without <digest> tags") {
		t.Errorf("%q, %+v", txt, f)
	}
}

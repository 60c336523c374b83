package anthropic_test

import (
	"errors"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

func TestDecodeMessage(t *testing.T) {
	raw := `{"role":"user","content":[{"type":"text","text":"a","x":1.0}]}`
	m, err := anthropic.DecodeMessage([]byte(raw))
	if err != nil || m.Raw() != raw || m.Text() != "a" {
		t.Errorf("DecodeMessage = %v, %v", m, err)
	}
	for _, bad := range []string{"", "{", raw + "," + raw} {
		if _, err := anthropic.DecodeMessage([]byte(bad)); err == nil {
			t.Errorf("DecodeMessage(%q) succeeded", bad)
		}
	}
}

func TestChecker(t *testing.T) {
	check := anthropic.Checker(model.Model{})
	tr := transcript.NewTranscript(
		transcript.User("go"),
		transcript.Assistant(transcript.Call("c1", "bash", `{}`)),
		transcript.Results(transcript.Result("c1", "ok")),
	)
	if err := check(transcript.Whole(3), tr); err != nil {
		t.Errorf("the whole transcript: %v", err)
	}
	cut := transcript.View{Messages: []transcript.ViewMessage{{Source: 0}, {Source: 1}}}
	if err := check(cut, tr); !errors.Is(err, transcript.ErrIllegal) {
		t.Errorf("a call without its result: %v", err)
	}
}

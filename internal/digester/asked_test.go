package digester_test

import (
	"testing"

	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/digester"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// TestAsked asks which model writes digests: the options' own, else the client's, else the session's.
func TestAsked(t *testing.T) {
	session, small := model.Model{ID: "claude-opus-5-5", Window: 9}, model.Model{ID: "gpt-5.4-mini"}
	for _, tt := range []struct {
		name   string
		of     digest.Options
		id     string
		window int
	}{
		{"nothing said", digest.Options{Generator: pleattest.Always("")}, session.ID, 9},
		{"client without a model", digest.Options{Generator: &openai.ChatClient{}}, session.ID, 9},
		{"client with the session's", digest.Options{Generator: &gemini.Client{Model: model.Model{ID: session.ID}}}, session.ID, 9},
		{"Chat client's", digest.Options{Generator: &openai.ChatClient{Model: small}}, small.ID, 400_000},
		{"Responses client's", digest.Options{Generator: &openai.ResponsesClient{Model: small}}, small.ID, 400_000},
		{"Gemini client's", digest.Options{Generator: &gemini.Client{Model: small}}, small.ID, 400_000},
		{
			"Anthropic client's",
			digest.Options{Generator: &anthropic.Client{ClientOptions: model.ClientOptions{Model: small}}},
			small.ID, 400_000,
		},
		{"named", digest.Options{Generator: &openai.ChatClient{Model: small}, Model: model.Model{ID: "m"}}, "m", 0},
	} {
		if m := digester.Asked(tt.of, session); m.ID != tt.id || m.Window != tt.window {
			t.Errorf("%s: %s with a window of %d", tt.name, m.ID, m.Window)
		}
	}
}

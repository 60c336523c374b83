package sessionfile

import (
	"fmt"
	"io"
	"slices"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

// FormatNamed is the form that --format names, or the one that --json asks for.
func FormatNamed(name string, asJSON bool) (Format, error) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.name == name })
	switch {
	case i < 0:
		return Format{}, term.UsageError(fmt.Sprintf("unknown format %q: want text, markdown, prompt, anthropic, openai-chat, openai-responses, gemini", name))
	case asJSON:
		return Format{write: writeViewJSON}, nil
	}
	return formats[i], nil
}

// Format is a form of the result.
type Format struct {
	name    string
	write   func(io.Writer, *term.Console, *Folded) error
	request bool // a request body
}

var formats = []Format{
	{"text", writeViewText, false},
	{"markdown", writeViewMarkdown, false},
	{"prompt", writeViewPrompt, false},
	{"anthropic", requestBody(anthropic.Encode, anthropic.Decode), true},
	{"openai-chat", requestBody(openai.EncodeChat, openai.DecodeChat), true},
	{"openai-responses", requestBody(openai.EncodeResponses, openai.DecodeResponses), true},
	{"gemini", requestBody(gemini.Encode, gemini.Decode), true},
}

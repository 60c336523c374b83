package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// maxCacheKey is the longest prompt_cache_key that the provider takes.
const maxCacheKey = 64

// cacheKey shortens a session's key to what the provider takes.
func cacheKey(key string) string {
	if utf8.RuneCountInString(key) <= maxCacheKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:]) // 64 characters
}

// tools writes a list of definitions.
func (w *writer) tools(tools []model.Tool, one func(*writer, model.Tool)) {
	w.raw("[")
	for _, t := range tools {
		one(w, t)
	}
	w.end("]")
}

// options writes what both formats have behind the messages.
func (w *writer) options(req *model.Request, maxTokens string, tool func(*writer, model.Tool)) {
	if len(req.Tools) > 0 {
		w.key("tools").tools(req.Tools, tool)
	}
	if len(req.Tools) > 0 && req.NoTools {
		w.key("tool_choice").str("none")
	}
	if req.MaxTokens > 0 {
		w.key(maxTokens).int(req.MaxTokens)
	}
	if req.Temperature != nil {
		w.key("temperature").float(*req.Temperature)
	}
	if req.SessionKey != "" {
		w.key("prompt_cache_key").str(cacheKey(req.SessionKey))
	}
	if req.Stream {
		w.key("stream").raw("true")
	}
}

// schema is a tool's schema, or the one that takes nothing.
func schema(t model.Tool) string {
	if t.Schema == "" {
		return `{"type":"object","properties":{}}`
	}
	return t.Schema
}

// arguments returns a call's input as the text of a JSON object. Free text, the input
// of a custom tool, becomes the member input: servers parse arguments and fail on
// anything else.
func arguments(c transcript.ToolCall) transcript.Content {
	text := c.Input.String()
	if text == "" {
		return transcript.Plain("{}")
	}
	if jsonspan.Value(text).Valid(jsonspan.Object) == nil {
		return c.Input
	}
	var w writer
	w.raw("{").key("input").str(text).end("}")
	return transcript.Plain(string(w.b))
}

// sorted are a message's blocks by what the OpenAI wires do with them.
type sorted struct {
	thinking []transcript.Thinking
	said     []transcript.Block // text, images and opaque parts, in order
	calls    []transcript.ToolCall
	results  []transcript.ToolResult
}

func sortBlocks(m transcript.Message) sorted {
	var s sorted
	for _, b := range m.Blocks().All() {
		switch b := b.(type) {
		case transcript.Thinking:
			s.thinking = append(s.thinking, b)
		case transcript.ToolCall:
			s.calls = append(s.calls, b)
		case transcript.ToolResult:
			s.results = append(s.results, b)
		default:
			s.said = append(s.said, b)
		}
	}
	return s
}

// onlyText reports whether blocks are a single text, which needs no list.
func onlyText(blocks []transcript.Block) (transcript.Content, bool) {
	if len(blocks) != 1 {
		return transcript.Content{}, false
	}
	t, ok := blocks[0].(transcript.Text)
	return t.Text, ok
}

// partNames are the type names that a wire gives to parts.
type partNames struct{ text, image string }

var (
	chatParts   = partNames{"text", "image_url"}
	inputParts  = partNames{"input_text", "input_image"}
	outputParts = partNames{"output_text", ""} // a model's words have no pictures
)

// parts writes a list of content parts.
func (w *writer) parts(blocks []transcript.Block, names partNames) error {
	w.raw("[")
	for _, b := range blocks {
		if err := w.part(b, names); err != nil {
			return err
		}
	}
	w.end("]")
	return nil
}

func (w *writer) part(b transcript.Block, names partNames) error {
	switch b := b.(type) {
	case transcript.Text:
		w.raw("{").key("type").str(names.text).key("text").text(b.Text).end("}")
		return nil
	case transcript.Image:
		return w.image(b, names)
	case transcript.Opaque:
		if isPart(b, names) {
			w.raw(b.Raw)
			return nil
		}
		return fmt.Errorf("opaque block of type %q has no form on this wire", b.Type)
	default:
		return fmt.Errorf("%s block among content parts", b.Kind())
	}
}

// isPart reports whether an opaque block is a part of this wire. Blocks do not say
// where they come from, but the names tell.
func isPart(b transcript.Opaque, names partNames) bool {
	switch names {
	case chatParts:
		return b.Raw != "" && (b.Type == "input_audio" || b.Type == "file")
	case inputParts:
		return b.Raw != "" && (b.Type == "input_file" || b.Type == "input_audio" || b.Type == "input_image")
	}
	return false
}

func (w *writer) image(img transcript.Image, names partNames) error {
	url := imageURL(img)
	switch {
	case names.image == "":
		return fmt.Errorf("image block in words of the model has no form on this wire")
	case url == "":
		return fmt.Errorf("image block has neither data nor a URL")
	}
	w.raw("{").key("type").str(names.image).key("image_url")
	if names == chatParts {
		w.raw("{").key("url").str(url)
		w.detail(img)
		w.end("}}")
		return nil
	}
	w.str(url)
	w.detail(img)
	w.end("}")
	return nil
}

func (w *writer) detail(img transcript.Image) {
	if img.Detail != "" {
		w.key("detail").str(img.Detail)
	}
}

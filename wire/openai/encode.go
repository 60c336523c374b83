package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// writer builds JSON from front to back. It adds commas where the last byte shows that one
// is missing.
type writer struct{ b []byte }

func (w *writer) comma() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':', ',':
		default:
			w.b = append(w.b, ',')
		}
	}
}

func (w *writer) key(name string) *writer {
	w.str(name)
	w.b = append(w.b, ':')
	return w
}

func (w *writer) str(s string) *writer {
	w.comma()
	w.b = jsonspan.AppendQuote(w.b, s)
	return w
}

// text adds block content, in its original form if it has one.
func (w *writer) text(c transcript.Content) *writer { return w.raw(c.Literal()) }

// raw adds JSON, or opens a container.
func (w *writer) raw(json string) *writer {
	w.comma()
	w.b = append(w.b, json...)
	return w
}

// end closes containers.
func (w *writer) end(brackets string) *writer {
	w.b = append(w.b, brackets...)
	return w
}

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

func (w *writer) tools(tools []model.Tool, one func(*writer, model.Tool)) {
	w.raw("[")
	for _, t := range tools {
		one(w, t)
	}
	w.end("]")
}

// options writes what both formats have after the messages.
func (w *writer) options(req *model.Request, maxTokens string, tool func(*writer, model.Tool)) {
	if len(req.Tools) > 0 {
		w.key("tools").tools(req.Tools, tool)
		if req.NoTools {
			w.key("tool_choice").str("none")
		}
	}
	if req.MaxTokens > 0 {
		w.key(maxTokens).raw(strconv.Itoa(req.MaxTokens))
	}
	if req.Temperature != nil {
		w.key("temperature").raw(strconv.FormatFloat(*req.Temperature, 'g', -1, 64))
	}
	if req.SessionKey != "" {
		w.key("prompt_cache_key").str(cacheKey(req.SessionKey))
	}
	if req.Stream {
		w.key("stream").raw("true")
	}
}

// schema is a tool's schema, or one without parameters.
func schema(t model.Tool) string { return cmp.Or(t.Schema, `{"type":"object","properties":{}}`) }

// arguments returns a call's input as the text of a JSON object, because servers fail on arguments that
// are none.
func arguments(c transcript.ToolCall) transcript.Content {
	input := cmp.Or(wire.Input(c), "{}")
	if input == c.Input.String() {
		return c.Input
	}
	return transcript.Plain(input)
}

// sorted is a message's blocks by what the OpenAI wires do with them.
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

// partNames are the type names that a wire gives to parts.
type partNames struct{ text, image string }

var (
	chatParts   = partNames{"text", "image_url"}
	inputParts  = partNames{"input_text", "input_image"}
	outputParts = partNames{"output_text", ""} // a model's message cannot hold images
)

// content writes content: a string if it is one text, else a list of parts.
func (w *writer) content(blocks []transcript.Block, names partNames) *writer {
	if len(blocks) == 1 {
		if t, ok := blocks[0].(transcript.Text); ok {
			return w.text(t.Text)
		}
	}
	w.raw("[")
	for _, b := range blocks {
		w.part(b, names)
	}
	return w.end("]")
}

// part writes a block. One that has no form on the wire becomes a note.
func (w *writer) part(b transcript.Block, names partNames) {
	switch b := b.(type) {
	case transcript.Text:
		w.raw("{").key("type").str(names.text).key("text").text(b.Text).end("}")
	case transcript.Image:
		w.image(b, names)
	case transcript.Opaque:
		if isPart(b, names) {
			w.raw(b.Raw)
		} else {
			w.note(cmp.Or(b.Type, "item"), jsonspan.Value(b.Raw).Get("action", "query").Text(), names)
		}
	default:
		w.note(b.Kind().String(), "", names)
	}
}

// note writes what stood where a block has no form on the wire.
func (w *writer) note(kind, query string, names partNames) {
	text := "[" + kind + " left out: it has no form here]"
	if query != "" {
		text = "[" + kind + ": " + query + "]"
	}
	w.part(transcript.Say(text), names)
}

// isPart reports whether an opaque block is a part of this wire, judging by its type.
func isPart(b transcript.Opaque, names partNames) bool {
	switch names {
	case chatParts:
		return b.Raw != "" && (b.Type == "input_audio" || b.Type == "file")
	case inputParts:
		return b.Raw != "" && (b.Type == "input_file" || b.Type == "input_audio" || b.Type == "input_image")
	}
	return false
}

func (w *writer) image(img transcript.Image, names partNames) {
	url := imageURL(img)
	if names.image == "" || url == "" {
		w.note("image", "", names)
		return
	}
	w.raw("{").key("type").str(names.image).key("image_url")
	end := "}"
	if names == chatParts {
		w.raw("{").key("url")
		end = "}}"
	}
	if w.str(url); img.Detail != "" {
		w.key("detail").str(img.Detail)
	}
	w.end(end)
}

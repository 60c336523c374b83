// Package tokens counts tokens. [Tokenizer] estimates what the parts of a request cost in a
// model's tokens. A session learns from the usage that providers report how far off the
// estimates are, and corrects them.
package tokens

import (
	"cmp"
	"hash/maphash"
	"math"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/pleat-dev/pleat/internal/bpe"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Reported is a number of tokens as the provider counts them: what it reports and refuses, and what windows
// and budgets are given in. Numbers of pleat's own count are ints, so that the two cannot be mixed by
// accident; a session's meter makes the one of the other.
type Reported int

// Counter counts the tokens of a text, or estimates them. It cannot fail, is safe for
// concurrent use and does not keep the text, whose memory may be reused after the call.
type Counter interface {
	Count(text string) int
}

// O200k counts exactly with OpenAI's encoding o200k_base: GPT-4o and all that came
// after. The vocabulary is loaded by the first count. Counting does not allocate.
func O200k() Counter { return o200k{} }

type o200k struct{}

func (o200k) Count(text string) int { return bpe.O200k().Count(text) }

// CharsPerToken estimates one token for so many characters, the rule of thumb of many
// agents with a value of 4. On source code it is off by up to a third either way.
type CharsPerToken float64

// Count implements [Counter]. It rounds up, so that no text is free.
func (c CharsPerToken) Count(text string) int {
	if !(c > 0) {
		c = 4
	}
	return int(math.Ceil(float64(utf8.RuneCountInString(text)) / float64(c)))
}

// MessageCounter counts the parts of a conversation. [Tokenizer] is one. Counting never
// fails.
type MessageCounter interface {
	CountText(text string) int
	CountBlock(b transcript.Block) int
	CountMessage(m transcript.Message) int
}

// Tokenizer estimates what the parts of a request cost in a model's tokens. For models
// whose encoding is public, text is exact and only the wrapping is estimated; for the
// others everything is, and a session makes it better with every reply.
//
// It counts
//
//   - text, tool names and inputs with the model's encoding, times its ratio;
//   - images by the provider's rule, from the size in the file's header;
//   - thinking as its text or, if that is more, as its signature: providers put the whole
//     thinking into that, encrypted, and bill the whole when they show it to the model.
//     Whether thinking of earlier turns is shown at all is for the caller to know, see
//     [model.ThinkingRule];
//   - opaque blocks as their JSON text, with long base64 strings taken out: pictures and
//     PDFs are counted by their own rules, everything else as ciphertext. As text a blob
//     would count five times what it costs.
//
// Counts of longer texts are cached by a hash, so counting a conversation again costs a
// hash. It is safe for concurrent use.
type Tokenizer struct {
	counter Counter
	ratio   float64
	images  model.ImageRule
	over    overhead
	cache   *countCache
}

// Options change how a [Tokenizer] counts. The zero value is the default.
type Options struct {
	Counter   Counter // instead of the model's encoding
	CacheSize int     // counts cached, at about 100 bytes each; 0: 32,768, negative: none
}

// overhead is what wrapping costs, in tokens. The providers do not publish it, except
// that OpenAI's chat format puts 3 tokens and the role around a message; the rest is what
// fits reported usage, and calibration absorbs what is wrong with it.
type overhead struct {
	message, call, result int // each
	tool                  int // each tool definition
	tools                 int // once, if there are tools
}

var (
	openaiOverhead = overhead{message: 4, call: 8, result: 4, tool: 8, tools: 12}
	// A hidden prompt explains tools.
	anthropicOverhead = overhead{message: 4, call: 20, result: 12, tool: 16, tools: 340}
)

// NewTokenizer makes a tokenizer for a model. Options may be nil. A model with a
// tokenizer rule that makes no sense is counted with o200k_base.
func NewTokenizer(m model.Model, opts *Options) *Tokenizer {
	o := *cmp.Or(opts, &Options{})
	t := &Tokenizer{counter: O200k(), ratio: m.Tokenizer.Ratio, images: m.Images, over: openaiOverhead}
	if m.Provider == "anthropic" {
		t.over = anthropicOverhead
	}
	if n := m.Tokenizer.CharsPerToken(); o.Counter != nil {
		t.counter = o.Counter
	} else if n > 0 {
		t.counter = CharsPerToken(n)
	}
	if !(t.ratio > 0) {
		t.ratio = 1
	}
	o.CacheSize = cmp.Or(o.CacheSize, 32<<10)
	if o.CacheSize > 0 {
		t.cache = &countCache{seed: maphash.MakeSeed(), generation: (o.CacheSize + 1) / 2, young: make(map[countKey]int)}
	}
	return t
}

// CountText counts a text by itself.
func (t *Tokenizer) CountText(text string) int { return t.count(asText, text) }

// CountBlock counts a block with its wrapping.
func (t *Tokenizer) CountBlock(b transcript.Block) int {
	switch b := b.(type) {
	case transcript.Text:
		return t.content(b.Text)
	case transcript.Thinking:
		return t.thinking(b)
	case transcript.ToolCall:
		return t.over.call + t.CountText(b.Name) + t.content(b.Input)
	case transcript.ToolResult:
		n := t.over.result
		for _, part := range b.Parts.All() {
			n += t.CountBlock(part)
		}
		return n
	case transcript.Image:
		w, h, _ := imageSize(dataURL(b.Data.String()))
		return t.images.Tokens(w, h, b.Detail)
	case transcript.Opaque:
		return t.count(asOpaque, b.Raw) + t.referenced(b)
	}
	return 0
}

// CountMessage counts a message: its blocks and what is wrapped around it.
func (t *Tokenizer) CountMessage(m transcript.Message) int {
	n := t.over.message
	for _, b := range m.Blocks().All() {
		n += t.CountBlock(b)
	}
	return n
}

// CountTools counts tool definitions, with what a provider adds because there are any.
func (t *Tokenizer) CountTools(tools []model.Tool) int {
	if len(tools) == 0 {
		return 0
	}
	n := t.over.tools
	for _, tool := range tools {
		n += t.over.tool
		if tool.Raw != "" {
			n += t.CountText(tool.Raw)
		} else {
			n += t.CountText(tool.Name) + t.CountText(tool.Description) + t.CountText(tool.Schema)
		}
	}
	return n
}

// CountRequest counts a whole request: system, tools and messages.
func (t *Tokenizer) CountRequest(r model.Request) int {
	n := t.CountTools(r.Tools)
	if r.System != "" {
		n += t.over.message + t.CountText(r.System)
	}
	for _, m := range r.Messages {
		n += t.CountMessage(m)
	}
	return n
}

// MessageOverhead is what a message costs beyond its blocks.
func (t *Tokenizer) MessageOverhead() int { return t.over.message }

func (t *Tokenizer) thinking(b transcript.Thinking) int {
	if b.Redacted && b.Signature == "" {
		return cipherTokens(len(b.Raw))
	}
	return max(t.content(b.Text), cipherTokens(len(b.Signature)))
}

// content counts text that may be a literal. A literal without escapes is its text.
func (t *Tokenizer) content(c transcript.Content) int {
	if lit, ok := c.Escaped(); ok {
		return t.count(asLiteral, lit)
	}
	return t.count(asText, c.String())
}

// reading says how a string is to be read; equal strings count differently by it.
type reading byte

const (
	asText reading = iota
	asLiteral
	asOpaque
)

// minCached is the length from which caching pays: below it a count costs about as much as
// the hash.
const minCached = 256

func (t *Tokenizer) count(as reading, s string) int {
	if t.cache == nil || len(s) < minCached {
		return t.compute(as, s)
	}
	key := countKey{maphash.String(t.cache.seed, s), len(s), as}
	if n, ok := t.cache.get(key); ok {
		return n
	}
	n := t.compute(as, s)
	t.cache.add(key, n)
	return n
}

func (t *Tokenizer) compute(as reading, s string) int {
	switch as {
	case asLiteral:
		buf := unquoteBuffers.Get().(*[]byte)
		if cap(*buf) < len(s) {
			*buf = make([]byte, 0, len(s))
		}
		text, _ := jsonspan.AppendUnquote((*buf)[:0], transcript.StringBytes(s))
		n := t.scale(t.counter.Count(unsafe.String(unsafe.SliceData(text), len(text))))
		if *buf = text; cap(text) <= maxPooled {
			unquoteBuffers.Put(buf)
		}
		return n
	case asOpaque:
		return t.opaque(s)
	}
	return t.scale(t.counter.Count(s))
}

// maxPooled keeps one huge result from staying in memory.
const maxPooled = 1 << 20

var unquoteBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (t *Tokenizer) scale(n int) int {
	if t.ratio == 1 {
		return n
	}
	return int(math.Round(float64(n) * t.ratio))
}

package tokens

import (
	"strings"

	"github.com/pleat-dev/pleat/transcript"
)

// cipherTokens estimates the tokens behind base64 ciphertext of that length: three
// bytes for four characters, four bytes of text a token. Providers bill what they
// decrypt, not what is sent.
func cipherTokens(length int) int { return length * 3 / 4 / 4 }

// referencedTokens is what a document given by URL or file id counts. Its size is not
// known; two pages are assumed.
const referencedTokens = 6000

// referenced adds what an opaque block stands for without containing it.
func (t *Tokenizer) referenced(b transcript.Opaque) int {
	switch b.Type {
	case "document", "file", "input_file", "container_upload":
	default:
		return 0
	}
	if len(b.Raw) < 4096 && (strings.Contains(b.Raw, `"file_id"`) || strings.Contains(b.Raw, `"url"`) || strings.Contains(b.Raw, `"file_url"`)) {
		return referencedTokens
	}
	return 0
}

// minBlob is the length from which a string without any space or punctuation is taken
// for data. No word is that long, and ids, hashes and paths are shorter.
const minBlob = 256

// opaque counts JSON as text, except for the strings in it that are data.
func (t *Tokenizer) opaque(raw string) int {
	n, from := 0, 0
	for i := 0; i < len(raw); {
		open := strings.IndexByte(raw[i:], '"')
		if open < 0 {
			break
		}
		start := i + open + 1
		end := stringEnd(raw, start)
		if data := raw[start:end]; len(data) >= minBlob {
			if tokens, ok := t.blob(data); ok {
				n += t.scale(t.counter.Count(raw[from:start])) + tokens
				from = end
			}
		}
		i = min(end+1, len(raw))
	}
	return n + t.scale(t.counter.Count(raw[from:]))
}

// stringEnd returns the place of the quote that ends the string beginning at i.
func stringEnd(raw string, i int) int {
	for i < len(raw) {
		at := strings.IndexAny(raw[i:], `"\`)
		if at < 0 {
			break
		}
		if i += at; raw[i] == '"' {
			return i
		}
		i += 2
	}
	return len(raw)
}

// blob counts a string that is data, by what its first bytes say it is.
func (t *Tokenizer) blob(s string) (tokens int, ok bool) {
	data := dataURL(s)
	if !isBase64(data) {
		return 0, false
	}
	switch {
	case strings.HasPrefix(data, "JVBERi"): // %PDF-
		return pdfPages(data) * t.images.PageTokens(), true
	case isPicture(data):
		w, h, _ := imageSize(data)
		return t.images.Tokens(w, h, ""), true
	}
	return cipherTokens(len(data)), true
}

// imageData returns an image's base64, without the head of a data URL.
func imageData(c transcript.Content) string {
	if c.IsEmpty() {
		return ""
	}
	return dataURL(c.String())
}

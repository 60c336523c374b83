package tokens

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // for image.DecodeConfig
	_ "image/jpeg" // for image.DecodeConfig
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// imageSize reads the size of a picture given in base64 from the first bytes of its
// file. It knows PNG, GIF, WebP and JPEG.
func imageSize(data string) (width, height int, ok bool) {
	file := func() io.Reader { return base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)) }
	var head [30]byte
	_, _ = io.ReadFull(file(), head[:]) // what is shorter has no size
	switch {
	case string(head[:8]) == "\x89PNG\r\n\x1a\n":
		width, height = int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
	case string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		width, height = webpSize(head[:])
	default:
		c, _, _ := image.DecodeConfig(file()) // zero for what is no picture
		width, height = c.Width, c.Height
	}
	const most = 1 << 20 // a header that says more lies
	if width <= 0 || height <= 0 || width > most || height > most {
		return 0, 0, false
	}
	return width, height, true
}

// webpSize reads the canvas of any of the three kinds of WebP file.
func webpSize(b []byte) (width, height int) {
	u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	switch string(b[12:16]) {
	case "VP8X":
		return u24(b[24:]) + 1, u24(b[27:]) + 1
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff)
	}
	return 0, 0
}

// bytesPerPage stands in where a PDF does not show its pages.
const bytesPerPage = 50_000

var (
	pdfPage  = regexp.MustCompile(`/Type[ \r\n\t]*/Page\b`)
	pdfCount = regexp.MustCompile(`/Count ([0-9]{1,5})`)
)

// pdfPages estimates the pages of a PDF given in base64: by its page objects, else, as
// newer files compress those, by the largest page count it names, else by its size.
func pdfPages(data string) int {
	file, _ := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))) // up to where it is broken
	if pages := len(pdfPage.FindAllIndex(file, -1)); pages > 0 {
		return pages
	}
	most := 0
	for _, m := range pdfCount.FindAllSubmatch(file, -1) {
		n, _ := strconv.Atoi(string(m[1])) // five digits
		most = max(most, n)
	}
	return cmp.Or(most, len(data)/4*3/bytesPerPage+1)
}

// isPicture recognises PNG, JPEG, GIF and RIFF by the base64 of their first bytes.
func isPicture(data string) bool {
	return text.HasAnyPrefix(data, "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR")
}

// dataURL returns the data of a data URL; any other string as it is.
func dataURL(s string) string {
	head := s[:min(len(s), 256)]
	if at := strings.Index(head, ";base64,"); at >= 0 && strings.HasPrefix(head, "data:") {
		return s[at+len(";base64,"):]
	}
	return s
}

// isBase64 reports whether s has only characters of base64, and backslashes, because some
// encoders write \/.
func isBase64(s string) bool {
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\") == ""
}

// cipherTokens estimates the tokens behind base64 ciphertext of that length: three
// bytes for four characters, four bytes of text a token. Providers bill what they
// decrypt, not what is sent.
func cipherTokens(length int) int { return length * 3 / 4 / 4 }

// referencedTokens is what a document given by URL or file id counts. Its size is not
// known; two pages are assumed.
const referencedTokens = 6000

// referenced adds what an opaque block stands for without containing it.
func (t *Tokenizer) referenced(b transcript.Opaque) int {
	document := slices.Contains([]string{"document", "file", "input_file", "container_upload"}, b.Type)
	if document && len(b.Raw) < 4096 && text.ContainsAny(b.Raw, `"file_id"`, `"url"`, `"file_url"`) {
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
		end := jsonspan.StringEnd(raw, start-1)
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

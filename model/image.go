package model

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"io"
	"math"
	"strings"
)

// ImageRule names a provider's way of counting the tokens of an image. All rules were
// read in the providers' documentation in October 2026 and are estimates: providers
// change them with the model.
type ImageRule string

// The rules. Where a picture's size is not known, because it is given by reference, it
// counts as the largest that the rule makes of one.
const (
	// ImageDefault: one token for 750 pixels, at most 1,600.
	ImageDefault ImageRule = ""
	// ImageAnthropic: scaled down to a long edge of 1,568 pixels, then one token for 750
	// pixels, at most 1,600.
	ImageAnthropic ImageRule = "anthropic"
	// ImageAnthropicHigh is the same for models that see more (4.7 and later): 2,576
	// pixels, at most 4,784 tokens.
	ImageAnthropicHigh ImageRule = "anthropic-high"
	// ImageOpenAITile: scaled down into 2,048 by 2,048 and to a short edge of 768, then 85
	// tokens and 170 for each tile of 512 by 512; with low detail 85. Some models of this
	// kind take up to a fifth less.
	ImageOpenAITile ImageRule = "openai-tile"
	// ImageOpenAIPatch: one token for each patch of 32 by 32 pixels, scaled down to at
	// most 2,500 patches; with low detail at most 256.
	ImageOpenAIPatch ImageRule = "openai-patch"
	// ImageGemini: 1,120 tokens whatever the size, the default media resolution.
	ImageGemini ImageRule = "gemini"
)

func (r ImageRule) check() error {
	switch r {
	case ImageDefault, ImageAnthropic, ImageAnthropicHigh, ImageOpenAITile, ImageOpenAIPatch, ImageGemini:
		return nil
	}
	return fmt.Errorf("images %q is not a rule we know", string(r))
}

// Tokens returns the tokens of a picture of that size in pixels, with the provider's
// detail hint where it has one. A width or height of 0 is not known.
func (r ImageRule) Tokens(width, height int, detail string) int {
	if width <= 0 || height <= 0 {
		width, height = 1<<16, 1<<16 // every rule scales it down
	}
	w, h := float64(width), float64(height)
	switch r {
	case ImageAnthropic:
		return pixelTokens(w, h, 1568, 1600)
	case ImageAnthropicHigh:
		return pixelTokens(w, h, 2576, 4784)
	case ImageOpenAITile:
		if detail == "low" {
			return 85
		}
		w, h = scaleDown(w, h, 2048/max(w, h))
		w, h = scaleDown(w, h, 768/min(w, h))
		return 85 + 170*int(math.Ceil(w/512)*math.Ceil(h/512))
	case ImageOpenAIPatch:
		limit := 2500.0
		if detail == "low" {
			limit = 256
		}
		w, h = scaleDown(w, h, math.Sqrt(limit*32*32/(w*h)))
		return int(min(math.Ceil(w/32)*math.Ceil(h/32), limit))
	case ImageGemini:
		return 1120
	}
	return pixelTokens(w, h, math.Inf(1), 1600)
}

func pixelTokens(w, h, edge, limit float64) int {
	w, h = scaleDown(w, h, edge/max(w, h))
	return int(min(math.Ceil(w*h/750), limit))
}

// scaleDown scales a size by f, never up.
func scaleDown(w, h, f float64) (float64, float64) {
	if f >= 1 {
		return w, h
	}
	return w * f, h * f
}

// pageTokens is what a page of a PDF counts. Providers show the model the page's text,
// 1,500 to 3,000 tokens of it, and a picture of the page; Gemini the picture alone.
func (r ImageRule) PageTokens() int {
	if r == ImageGemini {
		return 560
	}
	return 3000
}

// imageSize reads the size of a picture given in base64 from the first bytes of its
// file. It knows PNG, GIF, WebP and JPEG.
func ImageSize(data string) (width, height int, ok bool) {
	var buf [48]byte
	head := data[:min(len(data), base64.StdEncoding.EncodedLen(len(buf)))]
	n, err := base64.StdEncoding.Decode(buf[:], []byte(head[:len(head)/4*4]))
	if err != nil && n == 0 {
		return 0, 0, false
	}
	b := buf[:n]
	switch {
	case len(b) >= 24 && string(b[:8]) == "\x89PNG\r\n\x1a\n":
		width, height = int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
	case len(b) >= 10 && string(b[:4]) == "GIF8":
		width, height = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	case len(b) >= 30 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		width, height = webpSize(b)
	case len(b) >= 3 && string(b[:3]) == "\xff\xd8\xff":
		// A JPEG's size may stand behind a preview picture; decoding stops when it is found.
		c, err := jpeg.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
		if err != nil {
			return 0, 0, false
		}
		width, height = c.Width, c.Height
	}
	const most = 1 << 20 // a header that says more lies
	if width <= 0 || height <= 0 || width > most || height > most {
		return 0, 0, false
	}
	return width, height, true
}

// webpSize reads the canvas of the three kinds of WebP file.
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

// pdfPages estimates the pages of a PDF given in base64: by its page objects, else, as
// newer files compress those, by the largest page count it names, else by its size.
func PdfPages(data string) int {
	r := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))
	var (
		pages, named int
		buf          [32 << 10]byte
		kept         int
	)
	const keep = 64 // longer than anything searched for, so that no match is cut in two
	for {
		n, err := io.ReadFull(r, buf[kept:])
		chunk := buf[:kept+n]
		last := err != nil
		end := len(chunk)
		if !last {
			end -= keep
		}
		p, c := scanPDF(string(chunk), end)
		pages, named = pages+p, max(named, c)
		if last {
			break
		}
		kept = copy(buf[:], chunk[end:])
	}
	switch {
	case pages > 0:
		return pages
	case named > 0:
		return named
	}
	return len(data)/4*3/bytesPerPage + 1
}

// scanPDF counts the page objects that begin before end and finds the largest count.
func scanPDF(s string, end int) (pages, named int) {
	for i := 0; ; {
		at := strings.IndexByte(s[i:], '/')
		if at < 0 || i+at >= end {
			return pages, named
		}
		i += at + 1
		rest := s[i:]
		if v, ok := strings.CutPrefix(rest, "Type"); ok {
			v = strings.TrimLeft(v[:min(len(v), 16)], " \r\n\t")
			if strings.HasPrefix(v, "/Page") && (len(v) == 5 || !asciiLetter(v[5])) {
				pages++
			}
		} else if v, ok := strings.CutPrefix(rest, "Count "); ok {
			n := 0
			for j := 0; j < min(len(v), 5) && v[j] >= '0' && v[j] <= '9'; j++ {
				n = n*10 + int(v[j]-'0')
			}
			named = max(named, n)
		}
	}
}

func asciiLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

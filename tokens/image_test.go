package tokens

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// CachedCounts lets the tests see how much a tokenizer remembers.
func CachedCounts(t *Tokenizer) int {
	return len(t.cache.young) + len(t.cache.old)
}

func picture(t testing.TB, format string, w, h int) string {
	t.Helper()
	var buf bytes.Buffer
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	var err error
	switch format {
	case "png":
		err = png.Encode(&buf, img)
	case "gif":
		err = gif.Encode(&buf, img, nil)
	case "jpeg":
		err = jpeg.Encode(&buf, img, nil)
	}
	difftest.Must(t, err)
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

func TestImageSize(t *testing.T) {
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	pad := strings.Repeat("\x00", 20)
	for _, c := range []struct {
		name, data string
		w, h       int
	}{
		{"png", picture(t, "png", 300, 200), 300, 200},
		{"png cut off", picture(t, "png", 300, 200)[:40], 300, 200},
		{"gif", picture(t, "gif", 300, 200), 300, 200},
		{"jpeg", picture(t, "jpeg", 300, 200), 300, 200},
		{"jpeg cut off", picture(t, "jpeg", 300, 200)[:40], 0, 0},
		{
			"webp lossy",
			b64("RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x2c\x01\xc8\x00" + pad), 300,
			200,
		},
		{"webp lossless", b64("RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x2b\xc1\x31\x00" + pad), 300, 200},
		{
			"webp extended",
			b64("RIFF\x00\x00\x00\x00WEBPVP8X\x00\x00\x00\x00\x00\x00\x00\x00\x2b\x01\x00\xc7\x00\x00" + pad), 300, 200,
		},
		{"webp unknown", b64("RIFF\x00\x00\x00\x00WEBPVP9 " + pad), 0, 0},
		{"png that lies", b64("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\x00\x00\x00\x01" + pad), 0, 0},
		{"not base64", "!!!!", 0, 0},
		{"nothing", "", 0, 0},
		{"text", b64("hello, this is no picture at all"), 0, 0},
	} {
		w, h, ok := imageSize(c.data)
		if w != c.w || h != c.h || ok != (c.w > 0) {
			t.Errorf("%s: %d×%d %v, want %d×%d", c.name, w, h, ok, c.w, c.h)
		}
	}
}

func TestImageTokens(t *testing.T) {
	for _, c := range []struct {
		rule   model.ImageRule
		w, h   int
		detail string
		want   int
	}{
		{"anthropic", 200, 200, "", 54}, // 40,000/750
		{"anthropic", 1000, 1000, "", 1334},
		{"anthropic", 1092, 1092, "", 1590},
		{"anthropic", 4000, 4000, "", 1600},
		{"anthropic", 3136, 100, "", 105}, // halved: 1568 × 50
		{"anthropic", 0, 0, "", 1600},
		{"anthropic-high", 1920, 1080, "", 2765},
		{"anthropic-high", 4000, 4000, "", 4784},
		{"openai-tile", 1024, 1024, "high", 765}, // 768 × 768: four tiles
		{"openai-tile", 2048, 4096, "high", 1105},
		{"openai-tile", 4096, 8192, "low", 85},
		{"openai-tile", 100, 100, "", 255},
		{"openai-patch", 1024, 1024, "high", 1024},
		{"openai-patch", 100, 33, "", 8},
		{"openai-patch", 9000, 9000, "", 2500},
		{"openai-patch", 1024, 1024, "low", 256},
		{"gemini", 5000, 5000, "", 1120},
		{"", 100, 75, "", 10},
		{"", 5000, 5000, "", 1600},
	} {
		if got := c.rule.Tokens(c.w, c.h, c.detail); got != c.want {
			t.Errorf("%q %d×%d %s: %d, want %d", c.rule, c.w, c.h, c.detail, got, c.want)
		}
	}
}

func TestPicturesAndDocuments(t *testing.T) {
	m := model.Model{Images: "anthropic", Tokenizer: model.TokenRule{Encoding: "chars/1", Ratio: 1}}
	tok := NewTokenizer(m, nil)
	data := picture(t, "png", 1500, 75) // 150 tokens
	for name, b := range map[string]transcript.Block{
		"plain":    transcript.Image{Data: transcript.Plain(data)},
		"literal":  transcript.Image{Data: transcript.Literal(`"` + data + `"`)},
		"escaped":  transcript.Image{Data: transcript.Literal(`"` + strings.ReplaceAll(data, "/", `\/`) + `"`)},
		"data url": transcript.Image{Data: transcript.Plain("data:image/png;base64," + data)},
	} {
		if got := tok.CountBlock(b); got != 150 {
			t.Errorf("%s: %d, want 150", name, got)
		}
	}
	long := data + strings.Repeat("A", 256)
	if got := tok.CountBlock(transcript.Opaque{Raw: `{"d":"` + long + `"}`}); got != 8+150 {
		t.Errorf("opaque picture: %d, want 158", got)
	}
	pdf := func(body string) string {
		return base64.StdEncoding.EncodeToString([]byte("%PDF-1.7\n" + body))
	}
	fill := strings.Repeat("x", 500)
	for _, c := range []struct {
		name, data string
		pages      int
	}{
		{
			"by objects",
			pdf("1 0 obj <</Type /Pages /Count 3>> <</Type /Page>> <</Type/Page/A 1>> <</Type\n/Page >>" + fill),
			3,
		},
		{"by count", pdf("1 0 obj <</Type /Pages /Count 12>> <</Count 4>>" + fill), 12},
		{"by size", pdf(strings.Repeat("x", 120_000)), 3},
		{"many chunks", pdf(strings.Repeat(strings.Repeat("y", 991)+"/Type /Page ", 300)), 300},
		{"broken", "JVBERi" + strings.Repeat("=", 300), 1},
	} {
		want := 12 + c.pages*3000
		for _, head := range []string{"", "data:application/pdf;base64,"} {
			raw := `{"data":"` + head + c.data + `"} `
			if got := tok.CountBlock(transcript.Opaque{Type: "document", Raw: raw}); got != want {
				t.Errorf("%s: %d, want %d", c.name, got, want)
			}
		}
	}
}

func FuzzOpaque(f *testing.F) {
	f.Add(`{"a":"` + strings.Repeat("A", 300) + `"}`)
	f.Add(`{"a":"data:application/pdf;base64,JVBERi` + strings.Repeat("A", 300) + `"}`)
	f.Add(`{"a":"/9j/` + strings.Repeat("A", 300) + `\`)
	tok := NewTokenizer(model.Model{Tokenizer: model.TokenRule{Encoding: "chars/1"}}, &Options{CacheSize: -1})
	f.Fuzz(func(t *testing.T, raw string) {
		if n := tok.CountBlock(transcript.Opaque{Type: "document", Raw: raw}); n < 0 {
			t.Errorf("%d tokens", n)
		}
	})
}

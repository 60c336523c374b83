package tokens

import (
	"encoding/base64"
	"encoding/binary"
	"image/jpeg"
	"io"
	"slices"
	"strings"
)

// imageSize reads the size of a picture given in base64 from the first bytes of its
// file. It knows PNG, GIF, WebP and JPEG.
func imageSize(data string) (width, height int, ok bool) {
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

// pdfPages estimates the pages of a PDF given in base64: by its page objects, else, as
// newer files compress those, by the largest page count it names, else by its size.
func pdfPages(data string) int {
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

// isPicture recognises PNG, JPEG, GIF and RIFF by the base64 of their first bytes.
func isPicture(data string) bool {
	return slices.ContainsFunc([]string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"}, func(magic string) bool { return strings.HasPrefix(data, magic) })
}

// dataURL returns the data of a data URL; any other string as it is.
func dataURL(s string) string {
	head := s[:min(len(s), 256)]
	if at := strings.Index(head, ";base64,"); at >= 0 && strings.HasPrefix(head, "data:") {
		return s[at+len(";base64,"):]
	}
	return s
}

var base64Bytes = func() (set [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\") {
		set[b] = true // the backslash because some encoders write \/
	}
	return set
}()

// isBase64 reports whether s has only characters of base64.
func isBase64(s string) bool {
	for i := range len(s) {
		if !base64Bytes[s[i]] {
			return false
		}
	}
	return true
}

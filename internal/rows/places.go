package rows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/transcript"
)

// The text of a message is what its body says, without the JSON around it. So it can be
// stored as a list of places in the body, which takes next to no time and space. Each begins
// with the number n·4 + form. For placeRaw and placeQuoted the gap follows: how far the
// place begins behind the end of the place before it.
const (
	placeRaw    = 0 // n bytes of the body as they are
	placeQuoted = 1 // n bytes of the body that are a JSON string: its text is meant
	placeOwn    = 2 // not in the body: the n bytes themselves follow
)

// PackPlaces packs the text of an entry that has a body: as places in the body, if the body
// is JSON and has the whole text in the same order, single line feeds aside; else by itself.
func PackPlaces(text string, body []byte) Blob {
	f := finder{body: body, text: text}
	var c jsonspan.Cursor
	c.Reset(body)
	f.value(&c)
	if c.Err() != nil || f.at != len(text) && text[f.at:] != "\n" {
		return PackQuick(transcript.StringBytes(text)) // only read
	}
	f.own(text[f.at:])
	return Blob{len(text), codecPlaces, f.out}
}

// finder follows a text through a body.
type finder struct {
	body []byte
	end  int // of the newest place
	text string
	at   int // all before this is found
	out  []byte
	buf  []byte
}

// value looks for the next piece of the text in a value and everything in it.
func (f *finder) value(c *jsonspan.Cursor) {
	if f.at == len(f.text) { // the rest is still checked to be JSON
		c.Skip()
		return
	}
	kind, start := c.Kind(), c.Pos()
	if (kind == jsonspan.Object || kind == jsonspan.Array) && f.begins(f.body[start:min(start+16, len(f.body))]) {
		whole := *c
		if s := whole.Skip(); whole.Err() == nil &&
			f.take(unsafe.String(&f.body[s.Start], s.End-s.Start), s, placeRaw) {
			*c = whole
			return
		}
	}
	switch kind {
	case jsonspan.Object:
		for c.Object(); ; f.value(c) {
			if _, ok := c.NextKey(); !ok {
				return
			}
		}
	case jsonspan.Array:
		for c.Array(); c.NextElem(); {
			f.value(c)
		}
	case jsonspan.String:
		if s := c.Skip(); c.Err() == nil {
			f.literal(s)
		}
	default:
		c.Skip()
	}
}

// literal takes a string's text if it comes next.
func (f *finder) literal(s jsonspan.Span) {
	lit := f.body[s.Start:s.End]
	const few = 8 // bytes tell most strings apart
	if head := lit[1:min(1+few, len(lit)-1)]; bytes.IndexByte(head, '\\') < 0 && !f.begins(head) {
		return
	}
	f.buf, _ = jsonspan.AppendUnquote(f.buf[:0], lit)
	f.take(unsafe.String(unsafe.SliceData(f.buf), len(f.buf)), s, placeQuoted)
}

// begins reports whether the text may go on like that.
func (f *finder) begins(head []byte) bool {
	rest := f.text[f.at:]
	return prefixes(rest, head) || rest != "" && rest[0] == '\n' && prefixes(rest[1:], head)
}

// prefixes reports whether one of the two begins with the other.
func prefixes(rest string, head []byte) bool {
	n := min(len(rest), len(head))
	return rest[:n] == string(head[:n])
}

// take records a place if the text goes on with it, perhaps after a line feed, up to the
// end of a line.
func (f *finder) take(piece string, s jsonspan.Span, form uint64) bool {
	if piece == "" {
		return false
	}
	for _, between := range []string{"", "\n"} {
		rest, ok := strings.CutPrefix(f.text[f.at:], between)
		if ok {
			rest, ok = strings.CutPrefix(rest, piece)
		}
		if !ok || rest != "" && rest[0] != '\n' && piece[len(piece)-1] != '\n' {
			continue
		}
		f.own(between)
		f.out = binary.AppendUvarint(f.out, uint64(s.End-s.Start)<<2|form)
		f.out = binary.AppendUvarint(f.out, uint64(s.Start-f.end))
		f.at, f.end = len(f.text)-len(rest), s.End
		return true
	}
	return false
}

// own records bytes that are not in the body.
func (f *finder) own(text string) {
	if text != "" {
		f.out = append(binary.AppendUvarint(f.out, uint64(len(text))<<2|placeOwn), text...)
	}
}

// InBody reports whether the blob is a text that can only be read with the body of its
// entry, by [Blob.UnpackFrom].
func (p Blob) InBody() bool { return p.Codec == codecPlaces }

// UnpackFrom returns a text that was packed as places in body, if it has the size and the
// hash that it must have.
func (p Blob) UnpackFrom(body []byte, size int, hash transcript.Hash) ([]byte, error) {
	if p.Size != size {
		return nil, fmt.Errorf("is recorded with %d bytes, want %d", p.Size, size)
	}
	text, err := readPlaces(p.Data, body, size)
	if err != nil {
		return nil, fmt.Errorf("is not in its body: %w", err)
	}
	return checked(text, size, hash)
}

var errPlaces = errors.New("its list of places is damaged")

// readPlaces puts a text together, which has at most size bytes.
func readPlaces(list, body []byte, size int) ([]byte, error) {
	text := make([]byte, 0, min(size, len(body)+len(list)))
	end := uint64(0)
	number := func() (uint64, bool) {
		v, n := binary.Uvarint(list)
		list = list[max(n, 0):]
		return v, n > 0
	}
	for len(list) > 0 && len(text) <= size {
		v, ok := number()
		n, form := v>>2, v&3
		if !ok || form > placeOwn {
			return nil, errPlaces
		}
		if form == placeOwn {
			if n > uint64(len(list)) {
				return nil, errPlaces
			}
			text, list = append(text, list[:n]...), list[n:]
			continue
		}
		gap, ok := number()
		if left := uint64(len(body)) - end; !ok || gap > left || n > left-gap {
			return nil, errPlaces
		}
		piece := body[end+gap : end+gap+n]
		end += gap + n
		if form == placeRaw {
			text = append(text, piece...)
		} else if text, ok = jsonspan.AppendUnquote(text, piece); !ok {
			return nil, errPlaces
		}
	}
	return text, nil
}

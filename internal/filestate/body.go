package filestate

import (
	"slices"
	"strings"
)

// body is a text of whole lines in chunks, so that to find and to change a little of a long
// one costs little. Its methods leave it as it is.
type body struct {
	chunks      []chunk
	size, lines int
}

// chunk is some whole lines.
type chunk struct {
	text  string
	lines int
	grams *grams // those that it has, and perhaps some that it had; nil: not looked up yet
}

// chunkSize is how long a chunk is at least, but for the last one, and half of how long it
// may become.
const chunkSize = 2 << 10

// grams is a set of hashes of four bytes in a row.
type grams [1 << 13 / 64]uint64

func hash(four uint32) uint32 { return four * 2654435761 >> 19 }

// hashes calls yield with the hash of each four bytes in a row.
func hashes(text string, yield func(uint32)) {
	var four uint32
	for i := range len(text) {
		if four = four>>8 | uint32(text[i])<<24; i > 2 {
			yield(hash(four))
		}
	}
}

func (g *grams) add(text string) {
	hashes(text, func(h uint32) { g[h/64] |= 1 << (h % 64) })
}

func bodyOf(text string) body { return join(chunksOf(text)) }

func chunksOf(text string) []chunk {
	var out []chunk
	for text != "" {
		n := len(text)
		if n > 2*chunkSize {
			if k := strings.IndexByte(text[chunkSize:], '\n'); k >= 0 {
				n = chunkSize + k + 1
			}
		}
		out = append(out, chunk{text: text[:n], lines: lineCount(text[:n])})
		text = text[n:]
	}
	return out
}

func join(parts ...[]chunk) body {
	b := body{chunks: slices.Concat(parts...)}
	for i := range b.chunks {
		b.size += len(b.chunks[i].text)
		b.lines += b.chunks[i].lines
	}
	return b
}

func (b body) plus(other body) body {
	n := len(b.chunks)
	if n == 0 || len(other.chunks) == 0 || len(b.chunks[n-1].text)+len(other.chunks[0].text) > chunkSize {
		return join(b.chunks, other.chunks)
	}
	return join(b.chunks[:n-1], chunksOf(b.chunks[n-1].text+other.chunks[0].text), other.chunks[1:])
}

func (b body) String() string {
	if len(b.chunks) == 1 {
		return b.chunks[0].text
	}
	var out strings.Builder
	out.Grow(b.size)
	for i := range b.chunks {
		out.WriteString(b.chunks[i].text)
	}
	return out.String()
}

// split takes the body apart before line n, counted from 0.
func (b body) split(n int) (before, after body) {
	for i := range b.chunks {
		c := &b.chunks[i]
		if n < c.lines {
			k := offset(c.text, n)
			return join(b.chunks[:i], chunksOf(c.text[:k])), join(chunksOf(c.text[k:]), b.chunks[i+1:])
		}
		n -= c.lines
	}
	return b, body{}
}

func (b body) hasPrefix(text string) bool {
	for i := range b.chunks {
		c := b.chunks[i].text
		if len(text) <= len(c) {
			return strings.HasPrefix(c, text)
		}
		if !strings.HasPrefix(text, c) {
			return false
		}
		text = text[len(c):]
	}
	return text == ""
}

func (b body) hasSuffix(text string) bool {
	for i := len(b.chunks) - 1; i >= 0; i-- {
		c := b.chunks[i].text
		if len(text) <= len(c) {
			return strings.HasSuffix(c, text)
		}
		if !strings.HasSuffix(text, c) {
			return false
		}
		text = text[:len(text)-len(c)]
	}
	return text == ""
}

// replace is the body with other text instead of size bytes at a place. If the last line
// loses its line feed, it is a body only after it has one again.
func (b body) replace(at, size int, with string) body {
	if len(b.chunks) == 0 {
		return bodyOf(with)
	}
	i := 0
	for ; i < len(b.chunks)-1 && at >= len(b.chunks[i].text); i++ {
		at -= len(b.chunks[i].text)
	}
	j, end := i, at+size
	for ; end > len(b.chunks[j].text); j++ {
		end -= len(b.chunks[j].text)
	}
	text := b.chunks[i].text[:at] + with + b.chunks[j].text[end:]
	if j++; text != "" && !strings.HasSuffix(text, "\n") && j < len(b.chunks) {
		text += b.chunks[j].text
		j++
	}
	now := chunksOf(text)
	if c := &b.chunks[i]; j == i+1 && len(now) == 1 && c.grams != nil {
		c.grams.add(text[max(at-3, 0):min(at+len(with)+3, len(text))])
		now[0].grams = c.grams
	}
	return join(b.chunks[:i], now, b.chunks[j:])
}

type search struct {
	body
	text   string
	hashes []uint32
	splits []int // where lines begin in the text, but for the first, last one first
	chunk  int   // number of the chunk where it goes on
	base   int   // where that begins
}

// maxGrams is how many bytes of a text are looked up.
const maxGrams = 128

func (b body) search(text string) *search {
	s := &search{body: b, text: text}
	hashes(text[:min(len(text), maxGrams)], func(h uint32) { s.hashes = append(s.hashes, h) })
	for k := len(text) - 1; k > 0; k-- {
		if text[k-1] == '\n' {
			s.splits = append(s.splits, k)
		}
	}
	return s
}

// next is where the text is first from a place on, which must not be before the last one
// asked for; -1: nowhere. With aligned it counts only at the beginning of a line.
func (s *search) next(from int, aligned bool) int {
	for ; s.chunk < len(s.chunks); s.chunk++ {
		c := &s.chunks[s.chunk]
		at := max(from-s.base, 0)
		if at < len(c.text) {
			if k := s.within(c, at, aligned); k >= 0 {
				return s.base + k
			}
			if k := s.across(c.text, at, aligned); k >= 0 {
				return s.base + k
			}
		}
		s.base += len(c.text)
	}
	return -1
}

func begins(text string, at int) bool { return at == 0 || text[at-1] == '\n' }

// within is where the text is inside of a chunk, from a place on.
func (s *search) within(c *chunk, from int, aligned bool) int {
	if len(s.text) > len(c.text)-from || !c.may(s.hashes) {
		return -1
	}
	for {
		k := strings.Index(c.text[from:], s.text)
		if k < 0 {
			return -1
		}
		if from += k; !aligned || begins(c.text, from) {
			return from
		}
		from++
	}
}

// across is where in a chunk the text begins that ends in a later one.
func (s *search) across(c string, from int, aligned bool) int {
	for _, k := range s.splits {
		at := len(c) - k
		if at < from || aligned && !begins(c, at) || !strings.HasSuffix(c, s.text[:k]) {
			continue
		}
		if rest := (body{chunks: s.chunks[s.chunk+1:]}); rest.hasPrefix(s.text[k:]) {
			return at
		}
	}
	return -1
}

// may reports whether a chunk may have all of some hashes.
func (c *chunk) may(hashes []uint32) bool {
	if c.grams == nil {
		c.grams = new(grams)
		c.grams.add(c.text)
	}
	for _, h := range hashes {
		if c.grams[h/64]&(1<<(h%64)) == 0 {
			return false
		}
	}
	return true
}

package textindex

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/internal/finder"
	"github.com/pleat-dev/pleat/search"
)

// pageSize is how much text a page has before it is full: enough to be packed well, and so little that those
// with all words of a query are few.
const pageSize = 16 << 10

// Session is a session that is being read for the index. Its pages are packed as soon as they are full.
type Session struct {
	Messages int
	About    []byte // anything that lists show

	pages  []page
	blocks []*finder.Block // of the page that is being filled
	size   int
}

type page struct {
	data  []byte
	words string
}

// Add adds a block.
func (s *Session) Add(b *finder.Block) {
	s.blocks = append(s.blocks, b)
	if s.size += len(b.Text); s.size >= pageSize {
		s.flush()
	}
}

var (
	packer, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4<<30))
)

var errPage = errors.New("the search index has a page that cannot be read")

// flush packs a page: of each block the JSON of all but its text, and the text, each after its length.
func (s *Session) flush() {
	if len(s.blocks) == 0 {
		return
	}
	var words strings.Builder
	var data []byte
	known := make(map[string]bool)
	for _, b := range s.blocks {
		head, err := json.Marshal(b)
		if err != nil {
			panic(err) // it has nothing that JSON has not
		}
		data = append(binary.AppendUvarint(data, uint64(len(head))), head...)
		data = append(binary.AppendUvarint(data, uint64(len(b.Text))), b.Text...)
		for w := range search.Words(b.Text) {
			if !known[w] {
				known[w] = true
				words.WriteString(w)
				words.WriteByte(' ')
			}
		}
	}
	s.pages = append(s.pages, page{packer.EncodeAll(data, nil), words.String()})
	s.blocks, s.size = nil, 0
}

// Content is a block of a page.
type Content struct {
	Text string
	head []byte
}

// Read reads a page, which is empty if another process has taken it out meanwhile.
func (x *Index) Read(ctx context.Context, p Page) ([]Content, error) {
	var packed []byte
	err := x.db.QueryRowContext(ctx, "SELECT data FROM page WHERE id = ?", p.id).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := unpacker.DecodeAll(packed, nil)
	if err != nil {
		return nil, errPage
	}
	next := func() (part []byte) {
		n, size := binary.Uvarint(data)
		if size <= 0 || n > uint64(len(data)-size) {
			err, data = errPage, nil
			return nil
		}
		part, data = data[size:size+int(n)], data[size+int(n):]
		return part
	}
	var list []Content
	for len(data) > 0 {
		head := next()
		list = append(list, Content{string(next()), head})
	}
	return list, err
}

// Block returns the block with all that is known of it.
func (c Content) Block() (*finder.Block, error) {
	b := &finder.Block{Text: c.Text}
	if json.Unmarshal(c.head, b) != nil {
		return nil, errPage
	}
	return b, nil
}

// Newest sorts pages: those with most of the words first, then the newest.
func Newest(pages []Page) {
	slices.SortFunc(pages, func(a, b Page) int { return cmp.Or(b.Has-a.Has, cmp.Compare(b.id, a.id)) })
}

package stores

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// An export file is a session with all its bytes: lines of JSON, first a header, then the
// entries in order, then an end. Each line ends with a check of everything before it, so
// that damage is found where it is. docs/format.md specifies it.

const exportVersion = 1

type exportHeader struct {
	Pleat   string   `json:"pleat"` // "export"
	Version int      `json:"version"`
	Session anyBytes `json:"session"`
	Tenant  anyBytes `json:"tenant,omitempty"`
	Entries uint64   `json:"entries"`
}

type exportEntry struct {
	Seq   uint64          `json:"seq"`
	Kind  store.EntryKind `json:"kind"`
	Label anyBytes        `json:"label,omitempty"`
	Time  int64           `json:"time"` // milliseconds since 1970 UTC
	Data  anyBytes        `json:"data,omitempty"`
	Body  anyBytes        `json:"body,omitempty"`
}

type exportEnd struct {
	End     bool   `json:"end"`
	Entries uint64 `json:"entries"`
}

// anyBytes is a JSON string if it is valid UTF-8, so that ordinary tools can read and search
// it, and otherwise {"base64": "…"}.
type anyBytes []byte

func (b anyBytes) MarshalJSON() ([]byte, error) {
	if !utf8.Valid(b) {
		return json.Marshal(map[string][]byte{"base64": b})
	}
	return plainJSON(string(b))
}

func (b *anyBytes) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var v struct{ Base64 []byte }
		err := json.Unmarshal(data, &v)
		*b = v.Base64
		return err
	}
	var s string
	err := json.Unmarshal(data, &s)
	*b = []byte(s)
	return err
}

// plainJSON encodes JSON without escaping <, > and &.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

const checkField = `,"check":"`

// checkSize is the length of the check at the end of a line: the field and the brace.
const checkSize = len(checkField) + 2*sha256.Size + len(`"}`)

type exportWriter struct {
	w   *bufio.Writer
	sum hash.Hash
}

func newExportWriter(w io.Writer) *exportWriter {
	return &exportWriter{bufio.NewWriterSize(w, 1<<16), sha256.New()}
}

func (w *exportWriter) line(v any) error {
	line, err := plainJSON(v)
	if err != nil {
		return err
	}
	return w.checked(line[:len(line)-1])
}

// checked adds the check and the closing brace to a line, and writes it.
func (w *exportWriter) checked(line []byte) error {
	w.sum.Write(line)
	_, err := fmt.Fprintf(w.w, "%s%s%x\"}\n", line, checkField, w.sum.Sum(nil))
	return err
}

// exportReader reads the lines of an export file and checks each before it is used.
type exportReader struct {
	name   string
	r      *bufio.Reader
	sum    hash.Hash
	number int // of the newest line
	header exportHeader
	seq    uint64
}

// maxLine bounds the memory that a line of somebody else's file may take.
const maxLine = 2 << 30

// newExportReader reads the header.
func newExportReader(name string, r io.Reader) (*exportReader, error) {
	x := &exportReader{name: name, r: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	if begin, err := x.r.Peek(len(`{"pleat":`)); string(begin) != `{"pleat":` {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		return nil, fmt.Errorf(
			`read %s: not an export file of pleat ("pleat store export" makes them; use "pleat compact" `+
				`for the session files of agents)`, name)
	}
	if err := x.line(&x.header); err != nil {
		return nil, err
	}
	if x.header.Pleat != "export" {
		return nil, x.damaged("not the header of an export file")
	}
	if x.header.Version != exportVersion {
		return nil, fmt.Errorf("read %s: it has version %d of the export format, but this pleat reads version %d "+
			"(use a newer pleat)", name, x.header.Version, exportVersion)
	}
	return x, nil
}

// next returns the next entry. After the last it returns [io.EOF], which means that the file
// is complete and undamaged.
func (x *exportReader) next() (store.Entry, error) {
	var v struct {
		exportEntry
		exportEnd
	}
	if err := x.line(&v); err != nil {
		return store.Entry{}, err
	}
	if v.End {
		return store.Entry{}, x.end(v.exportEnd)
	}
	if x.seq++; v.Seq != x.seq || x.seq > x.header.Entries {
		return store.Entry{}, x.damaged(fmt.Sprintf("entry %d where entry %d of %d was due", v.Seq,
			x.seq, x.header.Entries))
	}
	e := store.Entry{
		Seq: v.Seq, Kind: v.Kind, Label: string(v.Label), Time: time.UnixMilli(v.Time).UTC(), Data: v.Data,
		Body: v.Body,
	}
	if e.BodySize = len(e.Body); e.BodySize > 0 {
		e.BodyHash = transcript.HashOf(e.Body)
	}
	return e, nil
}

func (x *exportReader) end(v exportEnd) error {
	if x.seq != x.header.Entries || v.Entries != x.header.Entries {
		return x.damaged(fmt.Sprintf("the end after %d of %d entries", x.seq, x.header.Entries))
	}
	if _, err := x.r.ReadByte(); err == nil {
		x.number++
		return x.damaged("something follows the end")
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", x.name, err)
	}
	return io.EOF
}

func (x *exportReader) line(v any) error {
	line, err := x.bytes()
	if err != nil {
		return err
	}
	cut := len(line) - checkSize
	if cut < 0 {
		return x.damaged("its check is missing")
	}
	x.sum.Write(line[:cut])
	if want := checkField + hex.EncodeToString(x.sum.Sum(nil)) + `"}`; string(line[cut:]) != want {
		return x.damaged("its check does not match")
	}
	if err := json.Unmarshal(line, v); err != nil {
		return x.damaged(err.Error())
	}
	return nil
}

func (x *exportReader) bytes() ([]byte, error) {
	var line []byte
	for {
		part, err := x.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			x.number++
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s: it is cut off in line %d, after %d of %d entries", x.name, x.number+1,
				x.seq, x.header.Entries)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read %s: %w", x.name, err)
		case len(line) > maxLine:
			x.number++
			return nil, x.damaged("it is longer than 2 GiB")
		}
	}
}

func (x *exportReader) damaged(what string) error {
	return fmt.Errorf("read %s: line %d is damaged: %s", x.name, x.number, what)
}

// Export writes the entries that the session has at this moment, one at a time.
func Export(ctx context.Context, p *term.Console, store store.Store, info store.SessionInfo, out io.Writer) error {
	w := newExportWriter(out)
	tell := p.Progress()
	defer tell.Done()
	key := info.Key
	err := w.line(exportHeader{"export", exportVersion, anyBytes(key.Session), anyBytes(key.Tenant), info.Entries})
	if err != nil {
		return err
	}
	for e, err := range store.Scan(ctx, info.Key, 1) {
		if err != nil {
			return err
		}
		if e.Seq > info.Entries { // written since
			break
		}
		if e.BodySize > 0 {
			e.Body, err = store.Body(ctx, info.Key, e.BodyHash)
		}
		if err == nil {
			err = w.line(exportEntry{e.Seq, e.Kind, anyBytes(e.Label), e.Time.UnixMilli(), e.Data, e.Body})
		}
		if err != nil {
			return err
		}
		tell.Share(int(e.Seq), int(info.Entries), "exporting entries")
	}
	if err := w.line(exportEnd{true, info.Entries}); err != nil {
		return err
	}
	return w.w.Flush()
}

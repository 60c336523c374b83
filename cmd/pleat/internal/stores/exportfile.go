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
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// An export file is sessions with all their bytes: lines of JSON, for each a header, then the
// entries in order, then an end. Each line ends with a check of everything before it, so
// that damage is found where it is. docs/format.md specifies it.

const exportVersion = 1

type exportHeader struct {
	Pleat   string   `json:"pleat"` // "export"
	Version int      `json:"version"`
	Session anyBytes `json:"session"`
	Tenant  anyBytes `json:"tenant,omitempty"`
	Entries uint64   `json:"entries"`
	More    int      `json:"more,omitempty"` // sessions that follow
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
	err    error // of the newest entry
}

// maxLine bounds the memory that a line of somebody else's file may take.
const maxLine = 2 << 30

// newExportReader reads the first header.
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
	return x, x.begin()
}

// begin reads the header of the next session.
func (x *exportReader) begin() error {
	before := x.header.More
	x.header, x.seq, x.err = exportHeader{}, 0, nil
	if err := x.line(&x.header); err != nil {
		return err
	}
	if x.header.Pleat != "export" || before > 0 && x.header.More != before-1 {
		return x.damaged("not the header that is due")
	}
	if x.header.Version != exportVersion {
		return fmt.Errorf("read %s: it has version %d of the export format, but this pleat reads version %d "+
			"(use a newer pleat)", x.name, x.header.Version, exportVersion)
	}
	return nil
}

// next returns the next entry. After the last of the session it returns [io.EOF], which means that
// the session is complete and undamaged.
func (x *exportReader) next() (e store.Entry, err error) {
	defer func() { x.err = err }()
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
	e = store.Entry{
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
	if x.header.More > 0 {
		return io.EOF
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

// Export writes sessions, each with the entries that it has at this moment, one at a time.
func Export(ctx context.Context, p *term.Console, st store.Store, list []store.SessionInfo, out io.Writer) error {
	w := newExportWriter(out)
	tell := p.Progress()
	defer tell.Done()
	for i, info := range list {
		if err := w.session(ctx, st, info, len(list)-1-i, tell); err != nil {
			return fmt.Errorf("export session %s: %w", info.Key, err)
		}
	}
	return w.w.Flush()
}

// ToExport returns the session of this name or, without one, all that can be read, the most recently
// used last, so that the next store lists them in the same order; and why the others cannot.
func ToExport(
	ctx context.Context, p *term.Console, st Store, f *Flags, name string,
) (list []store.SessionInfo, left []Problem, err error) {
	if name != "" {
		info, err := Find(ctx, p, st, f, name)
		return []store.SessionInfo{info.Stored}, nil, err
	}
	all, err := library.Stored(ctx, st, f.Tenant)
	for _, info := range slices.Backward(all) {
		switch err := Export(ctx, p, st, []store.SessionInfo{info}, io.Discard); {
		case err == nil:
			list = append(list, info)
		case !errors.Is(err, store.ErrCorrupt):
			return nil, nil, err
		default:
			left = append(left, Problem{info.Key.Tenant, info.Key.Session, err.Error()})
		}
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no session to export: %w", store.ErrNotFound)
	}
	return list, left, err
}

// session writes a session, after which so many more follow.
func (w *exportWriter) session(
	ctx context.Context, st store.Store, info store.SessionInfo, more int, tell *term.Progress,
) error {
	n, key := uint64(0), info.Key
	err := w.line(exportHeader{
		"export", exportVersion, anyBytes(key.Session), anyBytes(key.Tenant), info.Entries, more,
	})
	if err != nil {
		return err
	}
	for e, err := range st.Scan(ctx, key, 1) {
		if err != nil {
			return err
		}
		if n == info.Entries { // written since
			break
		}
		if e.BodySize > 0 {
			e.Body, err = st.Body(ctx, key, e.BodyHash)
		}
		if err == nil {
			err = w.line(exportEntry{e.Seq, e.Kind, anyBytes(e.Label), e.Time.UnixMilli(), e.Data, e.Body})
		}
		if err != nil {
			return err
		}
		n++
		tell.Share(int(n), int(info.Entries), "exporting entries of "+key.String())
	}
	if n < info.Entries {
		return fmt.Errorf("it was deleted meanwhile: %w", store.ErrNotFound)
	}
	return w.line(exportEnd{true, n})
}

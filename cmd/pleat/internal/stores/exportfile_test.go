package stores

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/store"
)

// exportedHere makes a session and returns its export file.
func exportedHere(t *testing.T) []byte {
	t.Helper()
	st, err := OpenAt(t.Context(), filepath.Join(t.TempDir(), "pleat.db"), MakeMissing)
	must(t, err)
	defer st.Close()
	key := store.SessionKey{Session: "work"}
	var list []store.Entry
	for i := range 40 {
		list = append(list, store.Entry{
			Kind: store.EntryNote, Label: fmt.Sprint(i), Data: []byte{byte(i), 0xff},
			Body: fmt.Appendf(nil, "body %d: %q", i, strings.Repeat("é\n", i)),
		})
	}
	var out bytes.Buffer
	if _, err = st.Append(t.Context(), key, 0, list...); err == nil {
		p := &term.Console{Stderr: io.Discard, Getenv: func(string) string { return "" }}
		err = Export(t.Context(), p, st, []store.SessionInfo{{Key: key, Entries: uint64(len(list))}}, &out)
	}
	must(t, err)
	return out.Bytes()
}

// readExport reads a whole export file.
func readExport(data []byte) error {
	r, err := newExportReader("file", bytes.NewReader(data))
	for err == nil {
		_, err = r.next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// TestDamagedExport flips bits, cuts, and moves lines. Each is refused with the line in
// which it is.
func TestDamagedExport(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	data := exportedHere(t)
	must(t, readExport(data))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2_000 { // flips of a bit
		at, bit := rng.IntN(len(data)), rng.IntN(8)
		bad := bytes.Clone(data)
		bad[at] ^= 1 << bit
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		err := readExport(bad)
		if err == nil {
			t.Fatalf("bit %d of byte %d flipped: not noticed", bit, at)
		}
		named := fmt.Sprintf("line %d", line)
		if at < len(`{"pleat":`) {
			named = "not an export file"
		}
		if !strings.Contains(err.Error(), named) {
			t.Errorf("bit %d of byte %d in line %d flipped: %v", bit, at, line, err)
		}
	}
	for n := 0; n < len(data); n += 1 + rng.IntN(300) {
		err := readExport(data[:n])
		named := fmt.Sprintf("cut off in line %d", 1+bytes.Count(data[:n], []byte("\n")))
		if n < len(`{"pleat":`) {
			named = "not an export file"
		}
		if err == nil || !strings.Contains(err.Error(), named) {
			t.Errorf("cut to %d bytes: %v, want %q", n, err, named)
		}
	}
}

// A file whose lines are right, but not those of one export.
func TestWrongExport(t *testing.T) {
	data := exportedHere(t)
	var newer bytes.Buffer
	w := newExportWriter(&newer)
	must(t, errors.Join(w.line(exportHeader{"export", 2, anyBytes("s"), nil, 0, 0}), w.w.Flush()))
	if err := readExport(newer.Bytes()); err == nil || !strings.Contains(err.Error(), "use a newer pleat") {
		t.Errorf("a file of a newer version: %v", err)
	}
	all := bytes.SplitAfter(data, []byte("\n"))
	for name, c := range map[string]struct {
		lines [][]byte
		want  string
	}{
		"a line is missing":     {append(append([][]byte{}, all[:4]...), all[5:]...), "line 5"},
		"a line is there twice": {append(append([][]byte{}, all[:5]...), all[4:]...), "line 6"},
		"more after the end": {
			append(append([][]byte{}, all...), []byte("{}\n")), fmt.Sprintf("line %d", len(all)),
		},
		"two files in one":       {append(append([][]byte{}, all...), all...), fmt.Sprintf("line %d", len(all))},
		"the end without middle": {append(append([][]byte{}, all[:3]...), all[len(all)-2:]...), "line 4"},
	} {
		if err := readExport(bytes.Join(c.lines, nil)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReadExport(f *testing.F) {
	var b bytes.Buffer
	w := newExportWriter(&b)
	for _, v := range []any{
		exportHeader{"export", 1, anyBytes("s"), nil, 1, 0},
		exportEntry{Seq: 1, Kind: "note", Body: anyBytes("\xff")},
		exportEnd{true, 1},
	} {
		must(f, w.line(v))
	}
	must(f, w.w.Flush())
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readExport(data); err == nil && !bytes.HasPrefix(data, []byte(`{"pleat":`)) {
			t.Errorf("accepted %q", data)
		}
		// Few files get past the checks, so the lines are read with right ones too.
		var checked bytes.Buffer
		w := newExportWriter(&checked)
		for line := range bytes.Lines(data) {
			if i := bytes.Index(line, []byte(checkField)); i >= 0 {
				line = line[:i]
			}
			must(t, w.checked(line))
		}
		must(t, w.w.Flush())
		_ = readExport(checked.Bytes())
	})
}

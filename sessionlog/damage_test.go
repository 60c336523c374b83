package sessionlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/sessionlog"
)

func lineFixtures(t *testing.T) map[string][]byte {
	all := fixtures(t)
	for name, data := range all {
		if format, err := sessionlog.Detect(bytes.NewReader(data)); err != nil ||
			!slices.Contains(sessionlog.LineFormats, format) {
			delete(all, name)
		}
	}
	return all
}

func texts(t *testing.T, data []byte, opts *sessionlog.Options) ([]string, sessionlog.Info, error) {
	t.Helper()
	log, err := sessionlog.Open(bytes.NewReader(data), opts)
	if err != nil {
		return nil, sessionlog.Info{}, err
	}
	var all []string
	for rec, err := range log.Records() {
		if err != nil {
			return all, log.Info(), err
		}
		all = append(
			all,
			fmt.Sprint(
				rec.Message.Role(), rec.Message.Origin(), rec.Message.Raw(), rec.Message.Text(),
				rec.Message.Blocks().Len(),
			),
		)
	}
	return all, log.Info(), nil
}

// A bad line anywhere is reported with its number and costs nothing but itself.
func TestDamagedLine(t *testing.T) {
	codex := `{"timestamp":"x","type":"response_item","payload":{"type":"message","role":"user","content":"x"}}`
	copilot := `{"type":"user.message","data":{"content":"x"},"id":"1"}`
	for name, data := range lineFixtures(t) {
		want, _, err := texts(t, data, nil)
		must(t, err)
		lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
		for i := range len(lines) + 1 {
			for _, bad := range []string{`{"type":"user","mess`, "\x00\x01\x02", `[1,2]`, `"text"`, codex, copilot} {
				if strings.HasPrefix(name, "codex") && bad == codex || name == "copilot-cli" && bad == copilot ||
					i == 0 && (bad == codex || bad == copilot) {
					continue
				}
				damaged := strings.Join(lines[:i], "") + bad + "\n" + strings.Join(lines[i:], "")
				if i == len(lines) {
					damaged = string(data) + bad
				}
				got, info, err := texts(t, []byte(damaged), nil)
				if err != nil {
					t.Fatalf("%s, %q before line %d: %v", name, bad, i+1, err)
				}
				if d := difftest.Values(want, got); d != "" {
					t.Errorf("%s, %q before line %d changes the rest:\n%s", name, bad, i+1, d)
				}
				if info.Damaged != 1 || len(info.Damage) != 1 || info.Damage[0].Line != i+1 {
					t.Errorf("%s, %q before line %d: damage %v", name, bad, i+1, info.Damage)
				}
				var d sessionlog.Damage
				_, _, err = texts(t, []byte(damaged), &sessionlog.Options{Strict: true})
				if !errors.As(err, &d) || d.Line != i+1 {
					t.Errorf("%s, %q before line %d, strict: %v", name, bad, i+1, err)
				}
			}
		}
	}
}

// Cut anywhere, a file is refused clearly or yields what is whole.
func TestCutOff(t *testing.T) {
	for name, data := range fixtures(t) {
		whole, _, err := texts(t, data, nil)
		must(t, err)
		read, step := 0, 1
		if testing.Short() {
			step = 17
		}
		for n := 0; n < len(data); n += step {
			got, info, err := texts(t, data[:n], nil)
			switch {
			case errors.Is(err, sessionlog.ErrFormat):
			case err != nil:
				t.Fatalf("%s cut at %d: %v", name, n, err)
			case len(got) > len(whole)+1: // a held answer may be cut in two
				t.Fatalf("%s cut at %d: %d records, whole file %d", name, n, len(got), len(whole))
			case len(got) > 0:
				read++
				if b := data[n-1]; !strings.ContainsRune("\n }]", rune(b)) && info.Damaged == 0 {
					t.Fatalf("%s cut at %d: nothing reported", name, n)
				}
			}
		}
		if read == 0 {
			t.Errorf("%s: nothing was saved of any cut", name)
		}
	}
}

func TestNoSession(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{"", "empty"},
		{" \n\n", "empty"},
		{"\x7fELF\x00\x01", "binary"},
		{"hello\n", "not JSON"},
		{"{}", "none of"},
		{"[]", "none of"},
		{`{"a":1}` + "\n" + `{"b":2}`, "none of"},
		{strings.Repeat("[", 5000), "none of"},
		{strings.Repeat(`{"messages":[`, 5000), "none of"},
	} {
		_, err := sessionlog.Open(strings.NewReader(tt.data), nil)
		if !errors.Is(err, sessionlog.ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: error %v, want one that says %q", tt.data, err, tt.want)
		}
	}
	body := `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	two := body + "\n" + body
	if _, err := sessionlog.Open(strings.NewReader(two), &sessionlog.Options{Session: 2}); !errors.Is(
		err, sessionlog.ErrNoSession,
	) {
		t.Errorf("third session of two: %v", err)
	}
}

// Files with a byte order mark, Windows line ends or without a last line feed, and input
// that cannot seek, read the same.
func TestOddInput(t *testing.T) {
	for name, data := range fixtures(t) {
		want, _, _ := texts(t, data, nil)
		for odd, data := range map[string][]byte{
			"byte order mark": append([]byte("\ufeff"), data...),
			"no line feed":    bytes.TrimRight(data, "\n"),
			"CRLF":            bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
		} {
			got, info, err := texts(t, data, nil)
			if err != nil || info.Damaged > 0 {
				t.Fatalf("%s, %s: %v %v", name, odd, err, info.Damage)
			}
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d records, want %d", name, odd, len(got), len(want))
			}
		}
		log, err := sessionlog.Open(
			io.MultiReader(bytes.NewReader(data),
				strings.NewReader(strings.Repeat(strings.Repeat(" ", 1023)+"\n", 5<<10))),
			nil,
		)
		must(t, err)
		n := 0
		for _, err := range log.Records() {
			must(t, err)
			n++
		}
		if n != len(want) {
			t.Errorf("%s from a stream: %d records, want %d", name, n, len(want))
		}
	}
}

// Stopping early is fine at every record.
func TestStopEarly(t *testing.T) {
	for _, data := range fixtures(t) {
		whole, _, _ := texts(t, data, nil)
		for stop := range len(whole) {
			log, err := sessionlog.Open(bytes.NewReader(data), nil)
			must(t, err)
			n := 0
			for range log.Records() {
				if n++; n > stop {
					break
				}
			}
		}
	}
}

// A line of 100 MB is read with memory for a few of it, and refused by a smaller limit at
// the cost of none.
func TestHugeLine(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	const size = 100 << 20
	file := filepath.Join(t.TempDir(), "huge")
	f, err := os.Create(file)
	must(t, err)
	defer f.Close()
	fmt.Fprintln(f, `{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"one"}}`)
	fmt.Fprint(f, `{"type":"user","uuid":"2","parentUuid":"1","message":{"role":"user","content":"`)
	chunk := strings.Repeat("0123456789abcdef", 1<<12)
	for range size / len(chunk) {
		io.WriteString(f, chunk)
	}
	fmt.Fprintln(f, `"}}`)
	fmt.Fprintln(f, `{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":"three"}}`)
	for _, tt := range []struct {
		limit          int64
		records, bytes int
		heap           uint64
	}{
		{256 << 20, 3, size + 8, 4 * size},
		{1 << 20, 2, 8, 8 << 20},
	} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		sessionlog.SetMaxLine(t, tt.limit)
		log, err := sessionlog.Open(f, nil)
		must(t, err)
		records, n, peak := 0, 0, uint64(0)
		for rec, err := range log.Records() {
			must(t, err)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			records++
			n += len(rec.Message.Text())
		}
		t.Logf("limit %d: %d records, heap at most %d MB when one is handed out", tt.limit, records, peak>>20)
		if records != tt.records || n != tt.bytes || peak > tt.heap {
			t.Errorf(
				"limit %d: %d records, %d bytes, heap %d; want %d, %d, at most %d", tt.limit, records, n, peak,
				tt.records, tt.bytes, tt.heap,
			)
		}
	}
}

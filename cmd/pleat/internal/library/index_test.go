package library_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// indexed is the library of a home folder with an index, or without one, and what it warns of.
func (h *home) indexed(file string) (*library.Library, *bytes.Buffer) {
	log := new(bytes.Buffer)
	l := library.New(library.Options{
		Home: h.dir, Store: h.st, Index: file, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	h.Cleanup(func() { l.Close() })
	return l, log
}

func ask(queries ...string) recall.SearchRequest {
	return recall.SearchRequest{Queries: queries, Hits: 4, Budget: -1, Around: -1, Strict: strings.Contains(queries[0], `"`)}
}

// told is what a search found: of each session the handles of its hits, with the lines that match.
func told(t *testing.T, l *library.Library, f library.Filter, r recall.SearchRequest) []string {
	t.Helper()
	found, err := l.Search(t.Context(), f, r)
	if err != nil || len(found.Problems) > 0 {
		t.Fatal(err, found.Problems)
	}
	var list []string
	for _, in := range found.Found {
		var hits []string
		for _, a := range in.Result.Answers {
			for _, h := range a.Hits {
				hit := h.Handle + " " + h.What + " " + h.Stale
				for _, l := range h.Shown {
					hit += fmt.Sprintf("\n  %d %t %s", l.Number, l.Match, l.Text)
				}
				hits = append(hits, hit)
			}
		}
		slices.Sort(hits)
		list = append(list, in.Info.ID+" "+in.Info.Title+" "+in.Info.Project+"\n"+strings.Join(hits, "\n"))
	}
	return append(list, fmt.Sprint(found.Searched, " searched, ", found.Some > 0, " that others have some"))
}

// shopped is a session with calls.
const shopped = `{"parentUuid":null,"cwd":"/w","sessionId":"s1","type":"user","message":{"role":"user","content":"Uploads fail with 413. Größe prüfen."},"uuid":"u1","timestamp":"2026-01-02T10:00:00.000Z"}
{"parentUuid":"u1","cwd":"/w","sessionId":"s1","type":"assistant","message":{"id":"m1","model":"claude-opus-4-5-20251101","role":"assistant","content":[{"type":"text","text":"I look at the configuration."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/w/config/server.toml"}}]},"uuid":"a1","timestamp":"2026-01-02T10:00:05.000Z"}
{"parentUuid":"a1","cwd":"/w","sessionId":"s1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"port = 8081\nuploadLimitBytes = 1048576\nworkers = 4\n"}]},"uuid":"u2","timestamp":"2026-01-02T10:00:06.000Z"}
{"parentUuid":"u2","cwd":"/w","sessionId":"s1","type":"assistant","message":{"id":"m2","model":"claude-opus-4-5-20251101","role":"assistant","content":[{"type":"tool_use","id":"t3","name":"Edit","input":{"file_path":"/w/config/server.toml","old_string":"1048576","new_string":"10485760"}}]},"uuid":"a3","timestamp":"2026-01-02T10:02:00.000Z"}
{"parentUuid":"a3","cwd":"/w","sessionId":"s1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"The file /w/config/server.toml has been updated."}]},"uuid":"u4","timestamp":"2026-01-02T10:02:01.000Z"}
{"parentUuid":"u4","cwd":"/w","sessionId":"s1","type":"assistant","message":{"id":"m4","model":"claude-opus-4-5-20251101","role":"assistant","content":[{"type":"text","text":"The upload limit was 1 MB; it is 10 MB now."}]},"uuid":"a4","timestamp":"2026-01-02T10:02:30.000Z"}
`

// An index says what the sessions themselves say.
func TestIndexSaysTheSame(t *testing.T) {
	h := newHome(t)
	h.put(".claude/projects/p/shop.jsonl", shopped, day)
	h.put(".claude/projects/p/three.jsonl", said(three, day.Add(time.Hour)), day.Add(time.Hour))
	h.put(".claude/projects/p/copy.jsonl", said(three, day.Add(2*time.Hour)), day.Add(2*time.Hour))
	h.put(".claude/projects/p/long.jsonl", said(strings.ReplaceAll(long(10), "Uploads", "Requests"), day.Add(3*time.Hour)), day.Add(3*time.Hour))
	h.keep("The pool has 4 workers, and no upload.")
	index := filepath.Join(t.TempDir(), "search.db")
	for _, q := range []string{
		"pool", "upload limit", "uploadLimit", "uploads", `"upload limit"`, `"limit upload"`, "pool zebra", "zebra", "wrokers",
		"part7", "größe", "upload tool:Read", "1048576 file:server.toml", "file:server.toml", "upload by:user", "by:user",
		"upload after:3", "the", `""`, "upload workers pool",
	} {
		for _, any := range []bool{true, false} {
			scan, _ := h.indexed("")
			read, log := h.indexed(index)
			f := library.Filter{Any: any}
			want, got := told(t, scan, f, ask(q)), told(t, read, f, ask(q))
			if strings.Join(want, "\n") != strings.Join(got, "\n") || log.Len() > 0 {
				t.Errorf("%s, any %t:\n%s\n--- the index says:\n%s\n%s", q, any, strings.Join(want, "\n"), strings.Join(got, "\n"), log)
			}
		}
	}
	if info, err := os.Stat(index); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// has reports whether a search finds a word, without any warning.
func (h *home) has(index, word string) bool {
	h.Helper()
	l, log := h.indexed(index)
	r, err := l.Search(h.Context(), library.Filter{}, ask(word))
	if err != nil || log.Len() > 0 {
		h.Fatal(err, log)
	}
	return len(r.Found) > 0
}

// An index follows the sessions: what is new in them is found, and what is gone is not in the file.
func TestIndexFollows(t *testing.T) {
	h := newHome(t)
	index := filepath.Join(t.TempDir(), "search.db")
	h.put(".claude/projects/p/stays.jsonl", shopped, day)
	file := h.put(".claude/projects/p/grows.jsonl", three, day)
	kept := h.keep("The xylophone is stored.")
	if !h.has(index, "pool") || !h.has(index, "xylophone") || h.has(index, "quagga") {
		t.Error("what is there is not found, or what is not there is")
	}
	h.put(".claude/projects/p/grows.jsonl", three+claude("c d assistant The quagga is gone."), day.Add(time.Minute))
	if !h.has(index, "quagga") {
		t.Error("what is new is not found")
	}
	h.must(os.Remove(file))
	h.must(h.st.Forget(t.Context(), kept))
	if h.has(index, "quagga") || h.has(index, "xylophone") || !h.has(index, "upload") {
		t.Error("what is gone is found, or what is not gone is not")
	}
	data, err := os.ReadFile(index)
	if h.must(err); bytes.Contains(data, []byte("quagga")) || bytes.Contains(data, []byte("xylophone")) {
		t.Error("words of deleted sessions are in the file")
	}
	if left, _ := filepath.Glob(index + "-*"); len(left) > 0 {
		t.Errorf("a search leaves %q behind", left)
	}
}

// keep puts a session into the store.
func (h *home) keep(texts ...string) store.SessionKey {
	h.Helper()
	s, err := pleat.OpenSession(h.Context(), h.st, pleat.Key{Session: "kept"}, library.Roughly())
	h.must(err)
	for _, text := range texts {
		h.must(s.Append(h.Context(), transcript.User(text)))
	}
	return s.Key()
}

// A name is found before its parts, however much has them and came later.
func TestIndexKnowsNames(t *testing.T) {
	h := newHome(t)
	parts := strings.Repeat("The posh way to read a config.\n", 1000)
	h.keep("I set POSH_CONFIG to atomic.", parts, parts, parts, parts, parts, parts)
	l, _ := h.indexed(filepath.Join(t.TempDir(), "search.db"))
	for _, query := range []string{"POSH_CONFIG", `"POSH_CONFIG"`} {
		if got := strings.Join(told(t, l, library.Filter{}, ask(query)), "\n"); !strings.Contains(got, "to atomic") {
			t.Errorf("%s:\n%.500s", query, got)
		}
	}
}

// An interrupted search leaves what it has read, and the next one goes on.
func TestIndexInterrupted(t *testing.T) {
	h := newHome(t)
	index := filepath.Join(t.TempDir(), "search.db")
	for i := range 3 {
		at := day.Add(time.Duration(i) * time.Hour)
		h.put(fmt.Sprintf(".claude/projects/p/%d.jsonl", i), said(strings.ReplaceAll(three, "leak", fmt.Sprint("leak ", i)), at), at)
	}
	ctx, stop := context.WithCancel(t.Context())
	read := 0
	l := library.New(library.Options{Home: h.dir, Index: index, Progress: func(done, all int) {
		if read = all; done == 1 {
			stop()
		}
	}})
	defer l.Close()
	r, err := l.Search(ctx, library.Filter{}, ask("leak"))
	if !errors.Is(err, context.Canceled) || read != 3 || r.Searched != 1 || r.Unsearched != 2 || len(r.Found) != 1 {
		t.Fatalf("%+v, %v, %d", r, err, read)
	}
	r, err = l.Search(t.Context(), library.Filter{}, ask("leak"))
	if err != nil || read != 2 || r.Searched != 3 || len(r.Found) != 3 {
		t.Errorf("%+v, %v, %d", r, err, read)
	}
}

// Two that search at once do not disturb each other.
func TestIndexShared(t *testing.T) {
	h := newHome(t)
	index := filepath.Join(t.TempDir(), "search.db")
	for i := range 8 {
		h.put(fmt.Sprintf(".claude/projects/p/%d.jsonl", i), said(shopped, day.Add(time.Duration(i)*time.Hour)), day)
	}
	var both sync.WaitGroup
	for range 4 {
		l, log := h.indexed(index)
		both.Go(func() {
			r, err := l.Search(t.Context(), library.Filter{}, ask("upload limit"))
			if err != nil || r.Searched != 8 || len(r.Found) == 0 || log.Len() > 0 {
				t.Errorf("%+v, %v, %s", r, err, log)
			}
		})
	}
	both.Wait()
}

// An index that is damaged, of another version, or cannot be there does not keep anybody from searching.
func TestIndexDamaged(t *testing.T) {
	damage := func(change func(data []byte) []byte) func(string) error {
		return func(file string) error {
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, change(data), 0o600)
			}
			return err
		}
	}
	for name, c := range map[string]struct {
		do   func(file string) error
		says string
	}{
		"beginning": {damage(func(d []byte) []byte { return append([]byte(strings.Repeat("x", 200)), d[200:]...) }), "made again"},
		"pages":     {damage(func(d []byte) []byte { return append(d[:4096:4096], make([]byte, len(d)-4096)...) }), "made again"},
		"cut":       {damage(func(d []byte) []byte { return d[:len(d)/2] }), "made again"},
		"empty":     {damage(func([]byte) []byte { return nil }), ""},
		"version":   {damage(func(d []byte) []byte { d[63]++; return d }), ""},
		"folder": {func(file string) error {
			return errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "in"), 0o700))
		}, "every session is read"},
	} {
		h := newHome(t)
		h.put(".claude/projects/p/s.jsonl", shopped, day)
		index := filepath.Join(t.TempDir(), "search.db")
		if !h.has(index, "upload") {
			t.Fatal("nothing was found")
		}
		h.must(c.do(index))
		l, log := h.indexed(index)
		r, err := l.Search(t.Context(), library.Filter{}, ask("upload limit"))
		said := strings.Count(log.String(), "level=WARN")
		if err != nil || len(r.Found) != 1 || !strings.Contains(log.String(), c.says) || (said == 1) != (c.says != "") {
			t.Errorf("%s: %+v, %v, %s", name, r, err, log)
		}
	}
}

// BenchmarkSearch searches made-up sessions: with an index in memory, by making one in a file first, with the index, and
// with the index after a file grew.
func BenchmarkSearch(b *testing.B) {
	home, index := b.TempDir(), filepath.Join(b.TempDir(), "search.db")
	dir := filepath.Join(home, ".claude", "projects", "p")
	difftest.Must(b, os.MkdirAll(dir, 0o700))
	random := rand.New(rand.NewPCG(1, 2))
	words := func(n int) string {
		var text strings.Builder
		for range n {
			fmt.Fprintf(&text, "w%d ", int(20_000*random.Float64()*random.Float64()*random.Float64()))
		}
		return text.String()
	}
	file := ""
	for i := range 40 {
		lines := []string{"- u user " + words(20)}
		for n := range 100 {
			lines = append(lines, fmt.Sprintf("u a%d assistant %s", n, words(300)), fmt.Sprintf("a%d u user %s", n, words(20)))
		}
		file = filepath.Join(dir, fmt.Sprint(i, ".jsonl"))
		difftest.Must(b, os.WriteFile(file, []byte(claude(lines...)), 0o600))
	}
	search := func(index string) {
		l := library.New(library.Options{Home: home, Index: index})
		defer l.Close()
		r, err := l.Search(b.Context(), library.Filter{}, ask("w40 w700"))
		if err != nil || r.Searched != 40 || len(r.Found) == 0 {
			b.Fatalf("%+v, %v", r, err)
		}
	}
	for _, tt := range []struct {
		name, index string
		before      func(round int)
	}{
		{"scan", "", func(int) {}},
		{"make", index, func(int) { _ = os.Remove(index) }},
		{"index", index, func(int) {}},
		{"grown", index, func(round int) {
			at := day.Add(time.Duration(round) * time.Hour)
			difftest.Must(b, os.Chtimes(file, at, at))
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				tt.before(i)
				search(tt.index)
			}
		})
	}
}

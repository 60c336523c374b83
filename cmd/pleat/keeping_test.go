package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/openai"
)

// makeStore is a program for the scripts: it makes the store named by its argument, with
// two sessions that share their beginning. Everything in it is fixed, the handles too.
func makeStore() {
	if err := fillStore(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// damageStore is a program for the scripts: it changes one byte of the largest body in the
// store named by its argument.
func damageStore() {
	err := func() error {
		db, err := sql.Open("sqlite", os.Args[1])
		if err != nil {
			return err
		}
		defer db.Close()
		var id int64
		var data []byte
		if err := db.QueryRow("SELECT rowid, data FROM blob ORDER BY size DESC, hash LIMIT 1").Scan(&id, &data); err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		_, err = db.Exec("UPDATE blob SET data = ? WHERE rowid = ?", data, id)
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spoilStore is a program for the scripts: it damages an entry of the newest session in the
// store named by its argument, which cannot be opened any more.
func spoilStore() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec(
			"UPDATE entry SET sum = zeroblob(length(sum)) WHERE seq = 2 AND session = (SELECT max(id) FROM " +
				"session)")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// olderStore is a program for the scripts: it makes the store named by its argument one of
// schema version 1.
func olderStore() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec("DROP TABLE claim; PRAGMA user_version = 1")
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func fillStore(ctx context.Context, path string) error {
	st, err := stores.OpenAt(ctx, path, stores.MakeMissing)
	if err != nil {
		return err
	}
	defer st.Close()
	for i, name := range []string{"file:00aa11bb22cc33dd", "work"} {
		s, err := pleat.OpenSession(ctx, st, store.SessionKey{Session: name}, &pleat.Options{
			Budget: fold.Budget{Window: 6_000},
			Now:    func() time.Time { return time.Date(2025+i, 3, 1, 12, 0, 0, 0, time.UTC) },
		})
		if err != nil {
			return err
		}
		err = s.Append(ctx, transcript.User("Find the limit. Never touch legacy/."))
		for i := 0; i < 10 && err == nil; i++ {
			id, file := fmt.Sprintf("call_%d", i+1), fmt.Sprintf("src/part%d.go", i)
			err = s.Append(ctx, transcript.Assistant(transcript.Call(id, "read_file", `{"path":"`+file+`"}`)),
				transcript.Results(transcript.Result(id, lines(file, 60))))
			if err == nil {
				_, err = s.View(ctx, pleat.Turn{})
			}
		}
		if err == nil && name == "work" {
			err = errors.Join(s.Pin(ctx, "Answer in French."), s.Note(ctx, "port", "8081"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func lines(file string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s line %d: nothing about the limit\n", file, i+1)
	}
	return b.String()
}

// cli runs the program as if on a command line with the given store.
func cli(t *testing.T, store string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	p := &term.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
		return map[string]string{"PLEAT_STORE": store}[name]
	}}
	code = execute(t.Context(), p, args)
	return out.String(), errs.String(), code
}

var must = difftest.Must

var keepingOptions = pleat.Options{
	Budget: fold.Budget{Window: 3_000},
	Codecs: library.Codecs(),
	Model:  model.Model{Window: 3_000, Prices: []model.Price{{Input: 3, Output: 15}}},
	Now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC) },
}

// onWire brings messages into a wire format and back, so that they have raw bytes.
func onWire(t *testing.T, format transcript.Format, msgs []transcript.Message) []transcript.Message {
	t.Helper()
	req := &model.Request{Model: "m", Messages: msgs}
	var body []byte
	var err error
	var out []transcript.Message
	switch format {
	case transcript.FormatAnthropic:
		if body, err = anthropic.Encode(req); err == nil {
			var r *anthropic.Request
			if r, err = anthropic.Decode(body); err == nil {
				out = r.Messages
			}
		}
	case transcript.FormatChat:
		if body, err = openai.EncodeChat(req); err == nil {
			var r *openai.ChatRequest
			if r, err = openai.DecodeChat(body); err == nil {
				out = r.Messages
			}
		}
	case transcript.FormatResponses:
		if body, err = openai.EncodeResponses(req); err == nil {
			var r *openai.ResponsesRequest
			if r, err = openai.DecodeResponses(body); err == nil {
				out = r.Messages
			}
		}
	default:
		return msgs
	}
	must(t, err)
	return out
}

// liveThrough plays a random session: messages, views, notes, pins, usage, an epoch on demand
// and an undo.
func liveThrough(t *testing.T, st store.Store, key store.SessionKey, msgs []transcript.Message, seed uint64) {
	t.Helper()
	ctx := t.Context()
	s, err := pleat.OpenSession(ctx, st, key, &keepingOptions)
	must(t, err)
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, fold.ErrCannotFit) && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
	for i, m := range msgs {
		must(s.Append(ctx, m))
		_, err := s.View(ctx, pleat.Turn{})
		must(err)
		switch i % 7 {
		case 2:
			must(s.Pin(ctx, fmt.Sprintf("pin %d \u2028 <b> \xff", i)))
		case 3:
			must(s.Note(ctx, fmt.Sprintf("key \xfe %d", seed), fmt.Sprintf("note %d", i)))
		case 4:
			must(s.Used(ctx, model.Usage{Input: int(s.Snapshot().Tokens + 20), Output: 5}))
		case 5:
			_, err := s.Compact(ctx, "focus")
			must(err)
		case 6:
			must(s.Undo(ctx))
		}
	}
}

// TestExportImportRoundTrip takes sessions of every wire from one store to another by way
// of the command line. There every handle works and every view is the same bytes.
func TestExportImportRoundTrip(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.db"), filepath.Join(dir, "to.db")
	const seeds = uint64(5)
	folds, handles := 0, 0
	for _, format := range []transcript.Format{
		transcript.FormatNone, transcript.FormatAnthropic, transcript.FormatChat,
		transcript.FormatResponses,
	} {
		for seed := range seeds {
			o := pleattest.Transcripts{
				Turns: 8, Huge: 6_000, Legal: format != transcript.FormatNone,
				NoThink: format != transcript.FormatNone,
			}
			key := store.SessionKey{Session: fmt.Sprintf("s \xff%s-%d", format, seed)}
			func() {
				store := openTest(t, from)
				defer store.Close()
				liveThrough(t, store, key, onWire(t, format, o.Make(seed)), seed)
			}()
			file := filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", format, seed))
			for _, step := range [][]string{
				{from, "store", "export", key.Session, "-o", file},
				{to, "store", "import", file},
				{to, "store", "import", file},
			} {
				if _, stderr, code := cli(t, step[0], step[1:]...); code != 0 {
					t.Fatalf("%v: exit %d: %s", step, code, stderr)
				}
			}
			f, h := compareSessions(t, from, to, key)
			folds, handles = folds+f, handles+h
		}
	}
	if _, stderr, code := cli(t, to, "store", "verify"); code != 0 {
		t.Errorf("verify: %s", stderr)
	}
	t.Logf("%d folds and %d handles of results compared", folds, handles)
	if folds < int(seeds)*4 {
		t.Errorf("only %d folds were made: the test shows nothing", folds)
	}
}

func openTest(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path, nil)
	must(t, err)
	return store
}

// openAt opens a store as commands do.
func openAt(t *testing.T, path string, how stores.Access, keys ...[]byte) stores.Store {
	t.Helper()
	st, err := stores.OpenAt(t.Context(), path, how, keys...)
	must(t, err)
	return st
}

func handlerOf(t *testing.T, o *proxy.Options) *proxy.Handler {
	t.Helper()
	h, err := proxy.NewHandler(o)
	must(t, err)
	return h
}

// fillTest makes the store that fillStore makes.
func fillTest(t *testing.T, path string) {
	t.Helper()
	must(t, fillStore(t.Context(), path))
}

// sessionState is everything a session tells, with the content of every handle.
type sessionState struct {
	Messages, View, Folds, Ledger, Report, Hits string
	Pins                                        []string
	Notes                                       []transcript.Note
	Spent                                       float64
	Content                                     map[string]string
	folds                                       int
}

func compareSessions(t *testing.T, from, to string, key store.SessionKey) (folds, handles int) {
	t.Helper()
	a, b := tellAll(t, from, key), tellAll(t, to, key)
	if d := difftest.Values(a, b); d != "" {
		t.Fatalf("session %s is another after import (-exported +imported):\n%s", key, d)
	}
	return a.folds, len(a.Content)
}

func tellAll(t *testing.T, path string, key store.SessionKey) sessionState {
	t.Helper()
	ctx := t.Context()
	store := openTest(t, path)
	defer store.Close()
	s, err := pleat.OpenSession(ctx, store, key, &keepingOptions)
	must(t, err)
	asJSON := func(v any, err error) string {
		if err != nil {
			return err.Error()
		}
		out, err := json.Marshal(v)
		must(t, err)
		return string(out)
	}
	st := sessionState{
		Pins: s.Pins(), Notes: s.Notes(), Spent: s.Spent(), Content: map[string]string{}, folds: len(s.Folds()),
	}
	msgs, err := s.Resolve(ctx, transcript.Whole(s.Len()))
	st.Messages, st.Folds, st.Ledger, st.Report = asJSON(msgs, err), asJSON(s.Folds(),
		nil), asJSON(s.Ledger(ledger.Filter{}), nil), asJSON(s.Report(), nil)
	v, err := s.View(ctx, pleat.Turn{})
	if err == nil {
		msgs, err = s.Resolve(ctx, v)
	}
	st.View = asJSON(msgs, err)
	found, err := s.Search(ctx, recall.SearchRequest{Queries: []string{"error line file"}})
	st.Hits = asJSON(found, err)
	unfold := func(handle string) {
		for _, raw := range []bool{false, true} {
			u, err := s.Unfold(ctx, recall.UnfoldRequest{Handle: handle, Raw: raw})
			if err != nil && !raw {
				t.Fatal(err)
			}
			st.Content[fmt.Sprint(handle, raw)] = u.Whole
		}
	}
	for _, f := range s.Folds() {
		unfold(f.Handle)
	}
	for _, e := range s.Ledger(ledger.Filter{}) {
		if e.Handle != "" {
			unfold(e.Handle)
		}
	}
	return st
}

// exported makes a session and returns its export file.
func exported(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pleat.db")
	fillTest(t, path)
	out, stderr, code := cli(t, path, "store", "export", "work")
	if code != 0 {
		t.Fatal(stderr)
	}
	return []byte(out)
}

// A damaged file leaves nothing behind in the store, and an import that was interrupted
// goes on where it stopped.
func TestImportAllOrResume(t *testing.T) {
	data := exported(t)
	dir := t.TempDir()
	file, db := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "to.db")
	bad := bytes.Clone(data)
	bad[len(bad)-200] ^= 1
	writeTest(t, file, bad)
	if _, stderr, code := cli(t, db, "store", "import", file); code != 1 || !strings.Contains(stderr, "is damaged") {
		t.Fatalf("damaged file: exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(db); err == nil {
		t.Error("a store was made for a damaged file")
	}

	// What an interrupted import leaves: the first entries of the session.
	writeTest(t, file, data)
	st := openTest(t, db)
	whole := filepath.Join(dir, "whole.db")
	if _, stderr, code := cli(t, whole, "store", "import", file); code != 0 {
		t.Fatal(stderr)
	}
	all := entriesIn(t, whole)
	_, err := st.Append(t.Context(), store.SessionKey{Session: "work"}, 0, all[:7]...)
	must(t, errors.Join(err, st.Close()))
	want := fmt.Sprintf("Imported the remaining %d entries", len(all)-7)
	if out, stderr, code := cli(t, db, "store", "import", file); code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("resumed: exit %d: %s%s, want %q", code, out, stderr, want)
	}
	again, _, _ := cli(t, db, "store", "export", "work")
	if again != string(data) {
		t.Error("what was imported in two parts is exported differently")
	}
}

// writeTest writes a file, in a folder that need not be there.
func writeTest(t *testing.T, name string, data []byte) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600)))
}

// The shapes of what is printed for programs are a contract; see [TestShapes].
func TestKeepingShapes(t *testing.T) {
	dir := t.TempDir()
	db, file := filepath.Join(dir, "pleat.db"), filepath.Join(dir, "work.jsonl")
	fillTest(t, db)
	writeTest(t, file, exported(t))
	for _, args := range [][]string{
		{"store", "list"},
		{"unfold", "0zc8rwpm", "--grep", "line 7"},
		{"store", "import", file, "--as", "again"},
		{"store", "gc", "--name", "*"},
		{"store", "verify"},
	} {
		out, stderr, code := cli(t, db, append(args, "--json")...)
		if code != 0 {
			t.Fatalf("%v: %s", args, stderr)
		}
		name := args[0]
		if name == "store" {
			name = strings.Replace(args[1], "list", "stored", 1)
		}
		checkShape(t, name, []byte(out))
	}
}

var anyValue = regexp.MustCompile(`:(-?[0-9.]+|"[^"\\]*"|true|null)`)

// goodEntries are the entries of a session.
func goodEntries(t *testing.T) []store.Entry {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pleat.db")
	fillTest(t, path)
	return entriesIn(t, path)
}

// entriesIn are the entries of the session "work" in a store, with their bodies.
func entriesIn(t *testing.T, path string) (list []store.Entry) {
	t.Helper()
	st, key := openTest(t, path), store.SessionKey{Session: "work"}
	defer st.Close()
	for e, err := range st.Scan(t.Context(), key, 1) {
		if err == nil && e.BodySize > 0 {
			e.Body, err = st.Body(t.Context(), key, e.BodyHash)
		}
		must(t, err)
		list = append(list, e)
	}
	return list
}

// storeHostile stores a session with something else in one of its entries.
func storeHostile(t *testing.T, path, name string, good []store.Entry, r *rand.Rand) {
	t.Helper()
	list := slices.Clone(good)
	e := &list[r.IntN(len(list))]
	for range 50 { // mostly what says what is folded
		if e.Kind == store.EntryEpoch || r.IntN(20) == 0 {
			break
		}
		e = &list[r.IntN(len(list))]
	}
	if at := anyValue.FindAllIndex(e.Data, -1); len(at) > 0 {
		m := at[r.IntN(len(at))]
		values := []string{
			"-1", "0", "1", "4611686018427387904", "-4611686018427387904", "99999", "null", `""`, `"x"`, "[]",
			"[null]", "{}", "true",
		}
		e.Data = []byte(string(e.Data[:m[0]+1]) + values[r.IntN(len(values))] + string(e.Data[m[1]:]))
	}
	st := openTest(t, path)
	_, err := st.Append(t.Context(), store.SessionKey{Session: name}, 0, list...)
	must(t, errors.Join(err, st.Close()))
}

// A file that somebody made by hand, with checks that match, is imported if its session
// opens and every fold comes back, and else nothing is stored.
func TestHostileExport(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	good := goodEntries(t)
	path := filepath.Join(t.TempDir(), "pleat.db")
	const cases = uint64(150)
	refused := 0
	for seed := range cases {
		dir := t.TempDir()
		from, name := filepath.Join(dir, "from.db"), filepath.Join(dir, "hostile.jsonl")
		storeHostile(t, from, "work", good, rand.New(rand.NewPCG(seed, 3)))
		if _, stderr, code := cli(t, from, "store", "export", "work", "-o", name); code != 0 {
			t.Fatal(stderr)
		}
		_, stderr, code := cli(t, path, "store", "import", name)
		out, _, _ := cli(t, path, "store", "list", "--json")
		stored := strings.Contains(out, `"work"`)
		if stored != (code == 0) {
			t.Errorf("seed %d: exit %d, stored %v: %s", seed, code, stored, stderr)
		}
		if code != 0 {
			refused++
			continue
		}
		if out, stderr, code := cli(t, path, "store", "verify"); code != 0 {
			t.Errorf("seed %d: what was imported is damaged: %s%s", seed, out, stderr)
		}
		if _, stderr, code := cli(t, path, "store", "forget", "work", "--yes"); code != 0 {
			t.Fatal(stderr)
		}
	}
	t.Logf("%d of %d were refused", refused, cases)
}

// Whatever a store holds, no command panics, and the other sessions are still served.
func TestHostileStore(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	good := goodEntries(t)
	for seed := range uint64(60) {
		path := filepath.Join(t.TempDir(), "pleat.db")
		fillTest(t, path)
		storeHostile(t, path, "bad", good, rand.New(rand.NewPCG(seed, 4)))
		for _, args := range []string{
			"store list", "store verify", "store export bad", "search limit",
			"search --session bad limit", "store export --all", "unfold --session bad result:1",
		} {
			_, stderr, _ := cli(t, path, strings.Fields(args)...)
			if strings.Contains(stderr, "panic") {
				t.Errorf("seed %d: %s: %s", seed, args, stderr)
			}
		}
		if out, stderr, code := cli(t, path, "store", "list"); code != 0 || !strings.Contains(out, "work") {
			t.Errorf("seed %d: list: exit %d: %s%s", seed, code, out, stderr)
		}
		if _, stderr, code := cli(t, path, "store", "export", "work"); code != 0 {
			t.Errorf("seed %d: another session is not exported: %s", seed, stderr)
		}
	}
}

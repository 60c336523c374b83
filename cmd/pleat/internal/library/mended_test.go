package library_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/bill"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// shop is a store with several tenants.
type shop struct {
	*store.Memory
	tenants []string
	asked   int                    // how often for the tenants
	whole   int                    // scans from the beginning
	search  error                  // what a search fails with
	scanned func(store.SessionKey) // before a scan; nil: nothing happens
}

func (s *shop) Tenants(context.Context) ([]string, error) {
	s.asked++
	return s.tenants, nil
}

func (s *shop) Scan(
	ctx context.Context, key store.SessionKey, from uint64, kinds ...store.EntryKind,
) iter.Seq2[store.Entry, error] {
	if from == 1 {
		s.whole++
	}
	if s.scanned != nil {
		s.scanned(key)
	}
	return s.Memory.Scan(ctx, key, from, kinds...)
}

func (s *shop) Search(ctx context.Context, key store.SessionKey, query string, limit int) ([]store.Hit, error) {
	if s.search != nil {
		return nil, s.search
	}
	return s.Memory.Search(ctx, key, query, limit)
}

// say puts a session in the store.
func (s *shop) say(t *testing.T, tenant, name, text string) store.SessionKey {
	t.Helper()
	key := store.SessionKey{Tenant: tenant, Session: name}
	session, err := pleat.OpenSession(t.Context(), s, key, library.Roughly())
	if err == nil {
		err = session.Append(t.Context(), transcript.User(text))
	}
	difftest.Must(t, err)
	return key
}

func (s *shop) library(t *testing.T, home string) *library.Library {
	t.Helper()
	l := library.New(library.Options{Home: home, Store: s})
	t.Cleanup(func() { l.Close() })
	return l
}

func listed(t *testing.T, l *library.Library) (ids []string) {
	t.Helper()
	p, err := l.List(t.Context(), library.Filter{})
	difftest.Must(t, err)
	for _, s := range p.Sessions {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

// Sessions of several tenants with the same name are different ones, and a proxy's bill is none.
func TestTenants(t *testing.T) {
	st := &shop{Memory: store.NewMemory(), tenants: []string{"", "a", "a/b", "b", bill.Tenant}}
	keys := make(map[string]store.SessionKey) // by what is said
	for _, at := range [][2]string{
		{"", "main"}, {"a", "main"}, {"b", "main"}, {"a/b", "c"}, {"a", "b/c"}, {"", "a/b/c"}, {"b", "lone"},
	} {
		text := "In " + at[0] + ", " + at[1]
		keys[text] = st.say(t, at[0], at[1], text)
	}
	st.say(t, bill.Tenant, "bill", "not a conversation")
	l := st.library(t, "")
	ids := listed(t, l)
	if want := []string{"/a/b/c", "a%2Fb/c", "a/b/c", "a/main", "b/lone", "b/main", "main"}; !slices.Equal(ids, want) {
		t.Fatalf("%q, want %q", ids, want)
	}
	for _, id := range append(ids, "lone", "b/l") {
		s, err := l.Open(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		m, err := s.Message(t.Context(), 0)
		info, _ := l.Find(t.Context(), id)
		if err != nil || keys[m.Text()] != info.Key || info.Title != m.Text() ||
			!strings.HasSuffix(info.ID, info.Key.Session) {
			t.Errorf("%s is %+v and says %q (%v)", id, info, m.Text(), err)
		}
	}
	if _, err := library.New(library.Options{Store: st}).FindStored(t.Context(), "main"); err == nil ||
		!strings.Contains(err.Error(), "a/main") {
		t.Errorf("one of three is taken: %v", err)
	}
	if info, err := library.New(library.Options{Store: st, Tenant: "a"}).FindStored(t.Context(), "main"); err != nil || info.Key.Tenant != "a" {
		t.Errorf("%+v, %v", info, err)
	}
}

// A session knows what it was folded in, whether an agent keeps it in a file or not.
func TestCopies(t *testing.T) {
	st := &shop{Memory: store.NewMemory(), tenants: []string{""}}
	const file = "claude-code-0123456789"
	copied := st.say(t, "", library.CopyOf(store.SessionKey{Session: file}, "0123456789abcdef").Session, "Mend it.")
	st.say(t, "", file, "Mend it.")
	st.say(t, "", "own", "Look at it.")
	ofOwn := st.say(t, "", library.CopyOf(store.SessionKey{Session: "own"}, "0123456789abcdef").Session, "Look at it.")
	l := st.library(t, "")
	for of, want := range map[string]store.SessionKey{file: copied, "own": ofOwn} {
		info, err := l.Find(t.Context(), of)
		difftest.Must(t, err)
		copies, err := l.Copies(t.Context(), info)
		if err != nil || len(copies) != 1 || copies[0].Key != want || copies[0].Of != of ||
			copies[0].Title != info.Title {
			t.Errorf("%s was folded in %+v, %v; want %v", of, copies, err, want)
		}
	}
}

// A listing that is cut short says so, and leaves nothing behind that a later one shows.
func TestListCancelled(t *testing.T) {
	st := &shop{Memory: store.NewMemory(), tenants: []string{""}}
	st.say(t, "", "s", "Find the leak.")
	for at := range 2 { // the scan for the title, and the other one
		l := st.library(t, "")
		ctx, stop := context.WithCancel(t.Context())
		scans := 0
		st.scanned = func(store.SessionKey) {
			if scans++; scans == at+1 {
				stop()
			}
		}
		if _, err := l.List(ctx, library.Filter{}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled in scan %d: %v", at, err)
		}
		st.scanned = nil
		p, err := l.List(t.Context(), library.Filter{})
		if err != nil || p.Sessions[0].Problem != "" || p.Sessions[0].Title != "Find the leak." ||
			p.Sessions[0].Messages != 1 {
			t.Errorf("after one that was cancelled in scan %d: %+v, %v", at, p, err)
		}
	}
}

// A file that could not be read once is tried again though it has not changed.
func TestReadAgain(t *testing.T) {
	h := newHome(t)
	file := h.put(".claude/projects/p/s.jsonl", strings.Repeat("x", len(three)), day)
	if s, err := h.Find(t.Context(), h.find(file)); err != nil || s.Problem == "" {
		t.Fatalf("%+v, %v", s, err)
	}
	h.put(".claude/projects/p/s.jsonl", three, day)
	if s, err := h.Find(t.Context(), h.find(file)); err != nil || s.Problem != "" || s.Title == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A store that cannot search, such as an encrypted one, has its sessions searched one by one.
func TestSearchUnable(t *testing.T) {
	for _, unable := range []error{errors.ErrUnsupported, store.ErrReadOnly} {
		st := &shop{Memory: store.NewMemory(), tenants: []string{""}, search: unable}
		st.say(t, "", "s", "The leak is in the pool.")
		st.say(t, "", "t", "Nothing here.")
		r, err := st.library(t, "").
			Search(t.Context(), library.Filter{Limit: 10}, recall.SearchRequest{Queries: []string{"pool"}})
		if err != nil || len(r.Found) != 1 || r.Searched != 2 || len(r.Problems) != 0 || r.Found[0].Info.ID != "s" {
			t.Fatalf("%v: %+v, %v", unable, r, err)
		}
		if hits := r.Found[0].Result.Answers[0].Hits; len(hits) != 1 || !hits[0].Visible {
			t.Errorf("%v: what is in view is said to be folded: %+v", unable, hits)
		}
	}
}

// A search that runs out of time says how many sessions it did not search.
func TestSearchUnsearched(t *testing.T) {
	st := &shop{Memory: store.NewMemory(), tenants: []string{""}, search: errors.ErrUnsupported}
	for _, name := range []string{"s", "t", "u", "v"} {
		st.say(t, "", name, "The leak is in the pool.")
	}
	l := st.library(t, "")
	listed(t, l) // what is remembered is not scanned again
	ctx, stop := context.WithCancel(t.Context())
	opened := make(map[store.SessionKey]bool)
	st.scanned = func(key store.SessionKey) {
		if opened[key] = true; len(opened) == 2 {
			stop()
		}
	}
	r, err := l.Search(ctx, library.Filter{Limit: 3}, recall.SearchRequest{Queries: []string{"pool"}})
	if !errors.Is(err, context.Canceled) || r.Searched != 1 || r.Unsearched != 2 || r.Left != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A list shows what a file is, not what it was when it was read.
func TestGrownIsListed(t *testing.T) {
	h := newHome(t)
	file := h.put(".claude/projects/p/s.jsonl", three, day)
	id := h.find(file)
	h.texts(id)
	if s, err := h.Find(t.Context(), id); err != nil || s.Messages != 3 {
		t.Fatalf("%+v, %v", s, err)
	}
	h.put(".claude/projects/p/s.jsonl", long(20), day.Add(time.Minute))
	found, err := h.Find(t.Context(), id)
	h.must(err)
	for range 2 { // looked at, and remembered
		p, err := h.List(t.Context(), library.Filter{})
		h.must(err)
		for _, s := range []library.Info{found, p.Sessions[0]} {
			if s.Messages != 0 || s.Title != "Uploads fail. Never change anything under legacy." || s.Tokens < 500 {
				t.Errorf("%+v", s)
			}
		}
	}
	h.texts(id)
	if s, err := h.Find(t.Context(), id); err != nil || s.Messages != 41 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Folders of agents come and go, and one that cannot be opened does not hide the others.
func TestFoldersComeAndGo(t *testing.T) {
	dir := t.TempDir()
	h := &home{T: t, dir: dir, st: store.NewMemory()}
	h.put(".pi", "not a folder", day)
	h.reopen()
	t.Cleanup(func() { h.Close() })
	if ids := listed(t, h.Library); len(ids) != 0 {
		t.Errorf("%q", ids)
	}
	for range 2 {
		file := h.put(".claude/projects/p/s.jsonl", three, day)
		if got := h.texts(h.find(file)); len(got) != 3 {
			t.Errorf("%q", got)
		}
		h.must(os.RemoveAll(filepath.Join(dir, ".claude")))
	}
}

// An opencode session changes when its messages and parts do, which are files of their own.
func TestOpenCodeChanges(t *testing.T) {
	h := newHome(t, ".local/share/opencode/storage")
	const top = ".local/share/opencode/storage/"
	say := func(n, role, text string, at time.Time) {
		h.put(top+"message/ses_1/msg_"+n+".json",
			`{"id":"msg_`+n+`","role":"`+role+`","modelID":"m","time":{"created":`+n+`}}`, at)
		h.put(top+"part/msg_"+n+"/prt_"+n+".json", `{"type":"text","text":"`+text+`"}`, at)
	}
	say("1", "user", "Find the leak.", day)
	say("2", "assistant", "It is in the pool.", day)
	h.must(os.MkdirAll(filepath.Join(h.dir, top, "part/msg_2/prt_9.json"), 0o700)) // no file
	h.put(top+"part/msg_2/prt_8.json", `{"type":"te`, day)                         // being written
	id := h.find(
		h.put(top+"session/global/ses_1.json", `{"id":"ses_1","title":"A leak","directory":"/home/dev/shop"}`, day),
	)
	check := func(what string, modified time.Time, want ...string) {
		t.Helper()
		for _, name := range []string{id, "ses_1"} {
			s, err := h.Find(t.Context(), name)
			h.must(err)
			if s.Agent != "opencode" || s.Title != "A leak" || s.Project != "/home/dev/shop" || s.Bytes < 200 || !s.Modified.Equal(modified) {
				t.Errorf("%s: listed as %+v", what, s)
			}
			if got := strings.Join(h.texts(id), "|"); got != strings.Join(want, "|") {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
	}
	check("at first", day, "Find the leak.", "It is in the pool.")
	later := day.Add(time.Minute)
	say("3", "user", "Then mend it.", later)
	check("another message", later, "Find the leak.", "It is in the pool.", "Then mend it.")
	now := time.Now().Truncate(time.Second)
	say("4", "assistant", "Mend", now)
	check("an answer that is being written", now, "Find the leak.", "It is in the pool.", "Then mend it.")
	later = later.Add(time.Minute)
	say("4", "assistant", "Mended.", later)
	check("its end", later, "Find the leak.", "It is in the pool.", "Then mend it.", "Mended.")
}

// A session with a known ID is found without listing all, and one that is open is not opened
// anew when its file has grown.
func TestNotAll(t *testing.T) {
	h := newHome(t)
	file := h.put(".claude/projects/p/s.jsonl", three, day)
	id := h.find(file)
	st := &shop{Memory: h.st, tenants: []string{"", "a"}}
	st.say(t, "", "s", "Find the leak.")
	st.say(t, "a", "s", "Find the other leak.")
	l := st.library(t, h.dir)
	for _, id := range []string{id, "s", "a/s"} {
		if s, err := l.Find(t.Context(), id); err != nil || s.ID != id || s.Title == "" {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
	}
	if st.asked != 0 {
		t.Errorf("all sessions were listed %d times", st.asked)
	}
	s, err := l.Open(t.Context(), id)
	h.must(err)
	h.put(".claude/projects/p/s.jsonl", three+claude("c d assistant Mended.", "d e user Thanks."), day.Add(time.Minute))
	st.whole = 0
	again, err := l.Open(t.Context(), id)
	h.must(err)
	if again != s || s.Len() != 5 || st.whole != 0 {
		t.Errorf("the same session: %v, with %d messages, after %d whole scans", again == s, s.Len(), st.whole)
	}
}

// A session that was deleted from the store comes back from its file.
func TestForgotten(t *testing.T) {
	h := newHome(t)
	id := h.find(h.put(".claude/projects/p/s.jsonl", three, day))
	h.texts(id)
	h.must(h.st.Forget(t.Context(), store.SessionKey{Session: id}))
	if got := h.texts(id); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

package pleat_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

var updateHashes = flag.Bool("update", false, "record the hashes of views anew")

const hashFile = "testdata/view-hashes.txt"

// TestViewHashes holds the views of random conversations to recorded hashes, under every
// policy: folded once, as "pleat compact" does, and turn by turn, as an agent does. A
// change that is not meant to change views must not change a hash; one that is meant to
// records them anew with -update.
func TestViewHashes(t *testing.T) {
	if testing.Short() {
		t.Skip("long: deterministic, and run without -short by go test work")
	}
	got := map[string]string{}
	for _, c := range []struct {
		name string
		make pleattest.Transcripts
		seed uint64
	}{
		{"legal-1", pleattest.Transcripts{Turns: 24, Huge: 12_000, Legal: true}, 1},
		{"legal-2", pleattest.Transcripts{Turns: 24, Huge: 12_000, Legal: true, NoThink: true}, 2},
		{"legal-3", pleattest.Transcripts{Turns: 12, Huge: 60_000, Legal: true}, 8},
		{"wild-4", pleattest.Transcripts{Turns: 24, Huge: 12_000}, 4},
		{"wild-5", pleattest.Transcripts{Turns: 24, Huge: 12_000, NoThink: true}, 5},
		{"wild-6", pleattest.Transcripts{Turns: 12, Huge: 60_000}, 6},
	} {
		addViewHashes(t, got, "random/"+c.name, c.make.Make(c.seed))
	}
	compareHashes(t, got, func(name string) bool { return strings.HasPrefix(name, "random/") })
}

// TestViewHashesCorpus does the same with real sessions, under the default policy: those
// of the folders that PLEAT_CORPUS lists, as far as they were recorded.
func TestViewHashesCorpus(t *testing.T) {
	folders := filepath.SplitList(os.Getenv("PLEAT_CORPUS"))
	if len(folders) == 0 {
		t.Skip("set PLEAT_CORPUS to folders of session files to run this test")
	}
	recorded := readHashes(t)
	got := map[string]string{}
	unknown := 0
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".json" && ext != ".jsonl" && ext != ".traj" {
				return err
			}
			name, err := filepath.Rel(folder, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if _, ok := recorded[name]; !ok && !*updateHashes {
				unknown++
				return nil
			}
			got[name] = corpusHashes(t, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(got) == 0 {
		t.Skip("no file in the folders of PLEAT_CORPUS has recorded hashes")
	}
	t.Logf("%d files compared, %d are not recorded", len(got), unknown)
	compareHashes(t, got, func(name string) bool { _, ok := got[name]; return ok })
}

// corpusHashes are the hashes of a file, over all sessions in it: of what was read, and of
// the views at each budget.
func corpusHashes(t *testing.T, path string) string {
	t.Helper()
	p, err := policy.ByName("default")
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := readAllSessions(path)
	if err != nil {
		return "unreadable"
	}
	read := newViewHash()
	for _, msgs := range sessions {
		if err := json.NewEncoder(read.sum).Encode(msgs); err != nil {
			t.Fatal(err)
		}
	}
	out := []string{read.String()}
	for _, budget := range []int{8_000, 20_000, 49_000} {
		h := newViewHash()
		for _, msgs := range sessions {
			h.foldOnce(t, p, budget, msgs)
		}
		out = append(out, h.String())
	}
	return strings.Join(out, " ")
}

func readAllSessions(path string) (sessions [][]transcript.Message, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	first, err := sessionlog.Open(f, nil)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	for n := range first.Sessions() {
		log := first
		if n > 0 {
			if log, err = first.Session(n); err != nil {
				return nil, err
			}
		}
		var msgs []transcript.Message
		for rec, err := range log.Records() {
			if err != nil {
				return nil, err
			}
			msgs = append(msgs, rec.Message)
		}
		sessions = append(sessions, msgs)
	}
	return sessions, nil
}

// addViewHashes adds the hashes of a conversation, by name and policy: folded once to each
// budget, then turn by turn in a window of each size.
func addViewHashes(t *testing.T, to map[string]string, name string, msgs []transcript.Message) {
	t.Helper()
	for _, p := range policy.All() {
		budgets := []int{8_000, 20_000}
		if p.Name == "default" {
			budgets = append(budgets, 49_000)
		}
		var out []string
		for _, budget := range budgets {
			h := newViewHash()
			h.foldOnce(t, p, budget, msgs)
			out = append(out, h.String())
		}
		for _, window := range []int{8_000, 20_000} {
			h := newViewHash()
			h.foldLive(t, p, window, msgs)
			out = append(out, h.String())
		}
		to[name+"/"+p.Name] = strings.Join(out, " ")
	}
}

// viewHash sums up views.
type viewHash struct{ sum hash.Hash }

func newViewHash() viewHash { return viewHash{sha256.New()} }

func (h viewHash) String() string { return hex.EncodeToString(h.sum.Sum(nil)[:16]) }

// view adds a view, or that there is none.
func (h viewHash) view(t *testing.T, v transcript.View, err error) {
	t.Helper()
	if err != nil {
		h.failed(t, err)
		return
	}
	fmt.Fprintf(h.sum, "view %d %t %d\n", len(v.Messages), v.DropThinking, v.Marker)
	for _, m := range v.Messages {
		if m.Source < 0 {
			made, err := json.Marshal(m.Made)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(h.sum, "made %s\n", made)
			continue
		}
		fmt.Fprintf(h.sum, "source %d\n", m.Source)
		for _, e := range m.Edits {
			fmt.Fprintf(h.sum, "edit %d %t %q\n", e.Block, e.Drop, e.Text)
		}
	}
}

// failed adds an error by its kind. What it says is not part of the promise.
func (h viewHash) failed(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, fold.ErrCannotFit):
		fmt.Fprintln(h.sum, "cannot fit")
	case errors.Is(err, store.ErrNotFound):
		fmt.Fprintln(h.sum, "not found")
	default:
		t.Fatal(err)
	}
}

// foldOnce folds a whole conversation to a budget, as "pleat compact" does.
func (h viewHash) foldOnce(t *testing.T, p fold.Policy, budget int, msgs []transcript.Message) {
	t.Helper()
	all := fold.Share(1)
	p.Budget.Window = 0
	p.AtBirth = fold.Change(p.AtBirth, func(s *lever.Spill) { s.Window = 0 })
	s := openHashed(t, p, fold.Budget{Window: budget + 1, Output: fold.Tokens(1), Buffer: fold.Tokens(1), Yellow: all, Red: all, Target: all})
	if err := s.Append(t.Context(), msgs...); err != nil {
		t.Fatal(err)
	}
	v, err := s.View(t.Context(), pleat.Turn{})
	h.view(t, v, err)
}

// foldLive plays a conversation turn by turn. On the way there is a compaction with a
// focus, a pin, a note, a pause, an undo and a refusal by the provider. Every view counts.
func (h viewHash) foldLive(t *testing.T, p fold.Policy, window int, msgs []transcript.Message) {
	t.Helper()
	ctx := t.Context()
	if p.Name == "default" && window > 10_000 {
		p = policy.Pays(p)
	}
	s := openHashed(t, p, fold.Budget{Window: window, Buffer: fold.Tokens(window / 20), Red: fold.Share(0.8)})
	n := len(msgs)
	for i, m := range msgs {
		if m.Role() == transcript.RoleAssistant {
			var turn pleat.Turn
			if i*2/n != (i-1)*2/n {
				turn.Idle = 2 * time.Hour
			}
			v, err := s.View(ctx, turn)
			h.view(t, v, err)
		}
		if err := s.Append(ctx, m); err != nil {
			t.Fatal(err)
		}
		h.interrupt(ctx, t, s, i*10/n, (i+1)*10/n)
	}
	v, err := s.View(ctx, pleat.Turn{})
	h.view(t, v, err)
}

// interrupt does what is due between one tenth of a conversation and the next.
func (h viewHash) interrupt(ctx context.Context, t *testing.T, s *pleat.Session, before, now int) {
	t.Helper()
	if before == now {
		return
	}
	switch now {
	case 2:
		h.failed(t, errors.Join(s.Pin(ctx, "Answer in French."), s.Note(ctx, "port", "8081")))
	case 3:
		_, err := s.Compact(ctx, "the parser")
		h.failed(t, err)
	case 6:
		h.failed(t, s.Undo(ctx))
	case 8:
		v, err := s.Refused(ctx, &model.APIError{Kind: model.ErrorTooLong, Status: 400, Message: "prompt is too long"})
		h.view(t, v, err)
	}
}

func openHashed(t *testing.T, p fold.Policy, budget fold.Budget) *pleat.Session {
	t.Helper()
	o := &pleat.Options{Policy: p, Budget: budget, Recall: pleat.UnfoldCall, Model: model.Model{
		Prices: []model.Price{{Input: 3, CacheWrite: 3.75, CacheRead: 0.3, Output: 15}},
	}}
	if p.Name == "default" {
		o.Check = anthropic.Checker(model.Model{})
	}
	if p.CharsPerToken == 0 {
		o.Tokens = counter
	}
	s, err := pleat.OpenSession(t.Context(), store.NewMemory(), store.SessionKey{Session: "hashes"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compareHashes compares hashes with the recorded ones that are meant, or records them.
func compareHashes(t *testing.T, got map[string]string, meant func(name string) bool) {
	t.Helper()
	recorded := readHashes(t)
	if *updateHashes {
		maps.DeleteFunc(recorded, func(name, _ string) bool { return meant(name) })
		maps.Copy(recorded, got)
		writeHashes(t, recorded)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want := recorded[name]; got[name] != want {
			t.Errorf("views of %s changed:\n got %s\nwant %s", name, got[name], want)
		}
	}
	for name := range recorded {
		if _, ok := got[name]; !ok && meant(name) {
			t.Errorf("there are recorded hashes for %s and no views", name)
		}
	}
}

func readHashes(t *testing.T) map[string]string {
	t.Helper()
	f, err := os.Open(hashFile)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]string{}
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recorded := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, hashes, _ := strings.Cut(lines.Text(), "\t")
		recorded[name] = hashes
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return recorded
}

func writeHashes(t *testing.T, hashes map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, hashes[name])
	}
	if err := os.WriteFile(hashFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

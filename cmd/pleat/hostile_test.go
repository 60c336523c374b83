package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/store"
)

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
	if err = errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
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

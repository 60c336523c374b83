package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/transcript"
)

// content is everything that can be read from a store, part by part, to compare with.
type content map[string]any

const damageTenant = "tenant"

func damageKeys() []store.SessionKey {
	var keys []store.SessionKey
	for n := range 6 {
		keys = append(keys, store.SessionKey{Tenant: damageTenant, Session: fmt.Sprint("session ", n)})
	}
	return keys
}

func damageLabels() []string {
	var labels []string
	for n := range 6 {
		for i := range 12 {
			labels = append(labels, fmt.Sprintf("label %d of %d", i, n))
		}
	}
	return append(labels, "no such label")
}

// fill writes a store with some of everything.
func fill(t *testing.T, st *sqlite.Store) {
	t.Helper()
	for n, key := range damageKeys() {
		var entries []store.Entry
		for i := range 12 {
			e := store.Entry{
				Kind:  store.EntryMessage,
				Time:  time.UnixMilli(int64(1_700_000_000_000 + n*1000 + i)),
				Label: fmt.Sprintf("label %d of %d", i, n),
			}
			if i%3 == 0 {
				e.Kind = store.EntryFold
			}
			e.Data = []byte(strings.Repeat(fmt.Sprintf("data %d of %d; ", i, n), 1+i*i))
			e.Body = []byte(strings.Repeat(transcript.HashOf(fmt.Sprint(n, i)).String(), 1+i*i*i/10))
			e.Text = fmt.Sprintf("some words of entry number%d in session%d", i, n)
			entries = append(entries, e)
		}
		put(t, st, key, 0, entries...)
		if _, err := st.Search(t.Context(), key, "words", 1); err != nil {
			t.Fatal(err)
		}
	}
}

// readAll reads everything. The parts with errors are left out of the result, and the errors returned.
func readAll(ctx context.Context, st *sqlite.Store) (c content, errs []error) {
	c = make(content)
	add := func(part string) func(v any, err error) {
		return func(v any, err error) {
			if err != nil {
				errs = append(errs, err)
			} else {
				c[part] = v
			}
		}
	}
	for n, key := range damageKeys() {
		add(fmt.Sprint("entries of ", key))(all(st.Scan(ctx, key, 0)))
		add(fmt.Sprint("folds of ", key))(all(st.Scan(ctx, key, 0, store.EntryFold)))
		for i := range 12 {
			hash := transcript.HashOf(strings.Repeat(transcript.HashOf(fmt.Sprint(n, i)).String(), 1+i*i*i/10))
			add(fmt.Sprint("body ", i, " of ", key))(st.Body(ctx, key, hash))
		}
	}
	found, err := st.Find(ctx, damageTenant, store.EntryMessage, damageLabels()...)
	byLabel := make(map[string]store.Found)
	for _, f := range found {
		byLabel[f.Entry.Label] = f
	}
	add("found")(byLabel, err)
	add("sessions")(all(st.Sessions(ctx, damageTenant)))
	return c, errs
}

// all collects a list up to its first error.
func all[T any](list iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range list {
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// compare reports what a damaged store served that the good one does not have.
func compare(good, got content) string {
	for part, v := range got {
		if d := difftest.Values(good[part], v); d != "" {
			return part + ":\n" + d
		}
	}
	return ""
}

// goodFile makes a filled store, closed and without a log, and what can be read of it.
func goodFile(t *testing.T) ([]byte, content) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "good.db")
	store := open(t, path)
	fill(t, store)
	good, errs := readAll(t.Context(), store)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	must(t, store.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	return file, good
}

// outcome counts what became of damaged files.
type outcome struct{ refused, noticed, harmless int }

// judge opens a damaged file and reads everything from it.
func (o *outcome) judge(t *testing.T, path, what string, good content) {
	t.Helper()
	st, err := sqlite.Open(path, nil)
	if err != nil {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open does not name the file: %v", what, err)
		}
		o.refused++
		return
	}
	defer st.Close()
	got, errs := readAll(t.Context(), st)
	for _, err := range errs {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", what, err)
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error does not name the file: %v", what, err)
		}
	}
	if diff := compare(good, got); diff != "" {
		t.Errorf("%s: wrong data was served (-good +got):\n%s", what, diff)
	}
	if len(errs) > 0 {
		o.noticed++
	} else {
		o.harmless++
	}
	// Whatever search does with a damaged index, it does not bring the program down.
	_, _ = st.Search(t.Context(), damageKeys()[0], "words number3", 10)
}

// A flipped bit anywhere in the file gives the right data or ErrCorrupt.
func TestBitFlips(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	file, good := goodFile(t)
	var places []int
	for at := range 100 { // the whole header
		places = append(places, at)
	}
	for page := 4096; page < len(file); page += 4096 { // the header of every page
		for at := range 12 {
			places = append(places, page+at)
		}
	}
	for i := range 600 { // and all over
		h := transcript.HashOf(fmt.Sprint("place", i))
		places = append(places, int(binary.BigEndian.Uint32(h[:]))%len(file))
	}
	var o outcome
	path := filepath.Join(t.TempDir(), "flipped.db")
	for i, at := range places {
		bit := byte(1) << (i * 5 % 8)
		damaged := slices.Clone(file)
		damaged[at] ^= bit
		must(t, os.WriteFile(path, damaged, 0o600))
		o.judge(t, path, fmt.Sprintf("bit %#x of byte %d (page %d)", bit, at, at/4096+1), good)
		removeAll(t, path)
		if t.Failed() {
			break
		}
	}
	t.Logf("%d flips in %d bytes: %d files refused, %d damages noticed, %d harmless",
		len(places), len(file), o.refused, o.noticed, o.harmless)
}

func TestTruncation(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	file, good := goodFile(t)
	var o outcome
	path := filepath.Join(t.TempDir(), "cut.db")
	for i := range 60 {
		size := len(file) * i / 60
		if i%3 == 1 {
			size = size / 4096 * 4096
		}
		must(t, os.WriteFile(path, file[:size], 0o600))
		o.judge(t, path, fmt.Sprintf("cut to %d bytes", size), good)
		removeAll(t, path)
	}
	if o.harmless > 0 {
		t.Errorf("%d cut files were read without an error", o.harmless)
	}
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Verify finds damage to what entries, bodies and texts hold, and goes on after it.
func TestVerifyDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	file, _ := goodFile(t)
	path := filepath.Join(t.TempDir(), "damaged.db")
	for _, victim := range []string{"data 3 of 2; ", "label 5 of 1"} {
		damaged := slices.Clone(file)
		at := bytes.LastIndex(damaged, []byte(victim))
		if at < 0 {
			t.Fatalf("%q is not in the file", victim)
		}
		damaged[at] ^= 1
		must(t, os.WriteFile(path, damaged, 0o600))
		st := open(t, path)
		damage, err := all(st.Verify(t.Context()))
		must(t, err)
		if len(damage) != 1 || damage[0].Seq == 0 || damage[0].Key.Tenant != damageTenant {
			t.Errorf("%q: Verify found %+v, want one damaged entry", victim, damage)
		}
		st.Close()
		removeAll(t, path)
	}
}

// Verify sees no damage in a store that is written to, searched and forgotten from
// while it looks.
func TestVerifyWhileWriting(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "store.db"))
	write := func(round int) error {
		key := store.SessionKey{Session: fmt.Sprint(round % 3)}
		if err := st.Forget(t.Context(), key); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		for i := range 10 {
			e := store.Entry{Kind: "k", Text: fmt.Sprint("words of text ", round, i), Body: fmt.Append(nil, round, i)}
			if _, err := st.Append(t.Context(), key, uint64(i), e); err != nil {
				return err
			}
		}
		_, err := st.Search(t.Context(), key, "words", 3)
		return err
	}
	done := make(chan error, 1)
	go func() {
		for round := range 40 {
			if err := write(round); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		isWhole(t, st)
		if _, err := st.Search(t.Context(), store.SessionKey{Session: "1"}, "words", 3); err != nil {
			t.Error(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

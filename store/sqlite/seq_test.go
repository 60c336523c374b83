package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/diff"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/sqlite"
	"github.com/pleat-dev/pleat/store/storetest"
)

// seqStore appends by AppendSeq.
type seqStore struct{ *sqlite.Store }

func (s seqStore) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	return s.AppendSeq(ctx, key, last, func(yield func(store.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
}

func TestConformanceSeq(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	storetest.Test(t, func(t *testing.T) store.Store {
		return seqStore{open(t, filepath.Join(t.TempDir(), "store.db"))}
	}, nil)
}

// A sequence that gives up leaves nothing behind, whatever it had yielded.
func TestAppendSeqGivesUp(t *testing.T) {
	st, key, wrong := open(t, filepath.Join(t.TempDir(), "store.db")), store.SessionKey{Session: "s"}, errors.New("wrong")
	if _, err := st.Append(t.Context(), key, 0, crashEntry(key, 1)); err != nil {
		t.Fatal(err)
	}
	_, err := st.AppendSeq(t.Context(), key, 1, func(yield func(store.Entry, error) bool) {
		for seq := range uint64(100) {
			if !yield(crashEntry(key, seq+2), nil) {
				t.Error("the store wants no more")
				return
			}
		}
		yield(store.Entry{}, wrong)
	})
	if !errors.Is(err, wrong) {
		t.Errorf("AppendSeq: %v, want %v", err, wrong)
	}
	var got []uint64
	for e, err := range st.Scan(t.Context(), key, 1) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Seq)
	}
	if d := diff.Values([]uint64{1}, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	for damage, err := range st.Verify(t.Context()) {
		t.Errorf("Verify: %+v, %v", damage, err)
	}
}

package sessionfile

import (
	"context"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// batchStore stores a session read from a file in large writes, each while the next one is
// gathered. After settle every append waits for them and is written at once, so that an
// epoch is never stored before the messages it is about. It is not safe for concurrent use.
type batchStore struct {
	store.Store
	key     store.SessionKey
	batch   []store.Entry // not being written yet
	bytes   int           // of the batch
	last    uint64        // the newest entry before the batch
	begun   bool
	settled bool

	writing chan error // gets the result of the current write; nil: there is none
	err     error      // of the first write that failed
}

// batchBytes is the size of a write: large, so that there are few, but fit for memory.
const batchBytes = 1 << 20

// Append implements [store.Store].
func (b *batchStore) Append(ctx context.Context, key store.SessionKey, last uint64, entries ...store.Entry) (uint64, error) {
	if b.settled {
		if err := b.wait(ctx); err != nil {
			return 0, err
		}
		return b.Store.Append(ctx, key, last, entries...)
	}
	if !b.begun {
		b.begun, b.last = true, last
	}
	if last != b.last+uint64(len(b.batch)) {
		return 0, store.ErrConflict
	}
	b.batch = append(b.batch, entries...)
	for _, e := range entries {
		b.bytes += len(e.Body) + len(e.Text)
	}
	if b.bytes >= batchBytes {
		b.flush(ctx)
	}
	return last + uint64(len(entries)), b.err
}

// Body implements [store.Store]. The body may still have to be written.
func (b *batchStore) Body(ctx context.Context, key store.SessionKey, hash transcript.Hash) ([]byte, error) {
	if err := b.wait(ctx); err != nil {
		return nil, err
	}
	return b.Store.Body(ctx, key, hash)
}

// flush starts to write the batch when the current write is over.
func (b *batchStore) flush(ctx context.Context) {
	if b.writing != nil {
		b.err = <-b.writing
		b.writing = nil
	}
	if b.err != nil || len(b.batch) == 0 {
		return
	}
	batch, last, done := b.batch, b.last, make(chan error, 1)
	b.batch, b.bytes, b.last, b.writing = nil, 0, last+uint64(len(batch)), done
	go func() {
		_, err := b.Store.Append(ctx, b.key, last, batch...)
		done <- err
	}()
}

// settle ends the gathering of messages. What is appended later was decided by folding.
func (b *batchStore) settle(ctx context.Context) {
	b.settled = true
	b.flush(ctx)
}

// wait returns when everything appended so far is stored.
func (b *batchStore) wait(ctx context.Context) error {
	b.flush(ctx)
	b.flush(ctx) // waits for what the first began
	return b.err
}

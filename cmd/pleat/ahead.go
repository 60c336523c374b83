package main

import (
	"context"

	"github.com/pleat-dev/pleat/sessionlog"
)

// ahead is a session file that is being read by a goroutine of its own, while its first
// messages are put to use.
type ahead struct {
	ctx    context.Context
	stop   context.CancelFunc
	chunks chan chunk
	summed chan error          // gets one when the file's hash is known
	peeked []sessionlog.Record // taken from chunks to see the model, not used yet
	model  string              // that the file names in what was taken from chunks so far
	err    error               // the reader gave up
}

// chunk is what the reader hands over at a time.
type chunk struct {
	records []sessionlog.Record
	model   string // that the file names up to here
	err     error  // the reader gives up
}

// aheadFile is the size up to which a file is read ahead: all of its messages fit in the
// memory of a session, so that none is read back from the store before the file is read.
const aheadFile = 8 << 20

// readAhead starts the reader, and hashing. The reader ends with the file, or when it is
// stopped; closing the channel is the last that it does.
func (f *sessionFile) readAhead(ctx context.Context) {
	const size, room = 16, 1024
	a := &ahead{chunks: make(chan chunk, room), summed: make(chan error, 1)}
	a.ctx, a.stop = context.WithCancel(ctx)
	f.ahead = a
	go func() { a.summed <- f.sum() }()
	go func() {
		defer close(a.chunks)
		var c chunk
		hand := func() bool {
			c.model = f.log.Info().Model
			select {
			case a.chunks <- c:
				c = chunk{}
				return true
			case <-a.ctx.Done():
				return false
			}
		}
		for rec, err := range f.log.Records() {
			if err != nil {
				c.err = err
				break
			}
			if c.records = append(c.records, rec); len(c.records) == size && !hand() {
				return
			}
		}
		hand()
	}()
}

// join ends the reader.
func (a *ahead) join() {
	a.stop()
	for range a.chunks { // until it is closed
	}
	_ = a.sum()
}

// sum waits until the file's hash is known.
func (a *ahead) sum() error {
	err := <-a.summed
	a.summed <- err // for who asks again
	return err
}

// next takes a chunk; false: there are no more.
func (a *ahead) next() (chunk, bool, error) {
	if a.err != nil {
		return chunk{}, false, a.err
	}
	c, ok := <-a.chunks
	if ok {
		a.model, a.err = c.model, c.err
	} else {
		a.err = a.ctx.Err() // the reader may have stopped for that
	}
	return c, ok, a.err
}

// firstModel is the model that the file names first, "" if it names none: most name one
// only. What cannot be read is told by who reads on.
func (f *sessionFile) firstModel() string {
	a := f.ahead
	for a.model == "" {
		c, ok, err := a.next()
		a.peeked = append(a.peeked, c.records...)
		if !ok || err != nil {
			break
		}
	}
	return a.model
}

// coming yields the messages as they are read. After the last one, all is known of the
// file.
func (f *sessionFile) coming(yield func(sessionlog.Record, error) bool) {
	a := f.ahead
	records, more := a.peeked, true
	for more {
		for _, rec := range records {
			if f.count++; !yield(rec, nil) {
				return
			}
		}
		c, ok, err := a.next()
		if err != nil {
			yield(sessionlog.Record{}, f.explain(err))
			return
		}
		records, more = c.records, ok
	}
	a.join()
	f.ahead = nil
	if err := f.wasRead(); err != nil {
		yield(sessionlog.Record{}, err)
	}
}

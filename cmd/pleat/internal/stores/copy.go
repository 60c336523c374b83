package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/library"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Print implements [term.Result].
func (d *Copied) Print(p *term.Page) {
	for _, x := range d.Problems {
		p.Line("not copied: session %s: %s", store.SessionKey{Tenant: x.Tenant, Session: x.Session}, x.What)
	}
	ahead := ""
	if d.Ahead > 0 {
		ahead = fmt.Sprintf(", %d have gone on there", d.Ahead)
	}
	p.Line("%s: %d copied, %d there already%s; %s and %s brought over, %s read again and compared.",
		term.Plural(d.Sessions, "session"),
		d.Copied, d.Same, ahead, EntryCount(d.Entries), term.ByteSize(d.Bytes), EntryCount(d.Compared))
}

type copying struct {
	*term.Console
	src, dst Store
	codecs   map[transcript.Format]transcript.Codec
	tells    *term.Progress
	doing    string // which session it is at
	done     *Copied
}

// Copy copies the sessions of a tenant, or one of them, and counts what it did.
func (d *Copied) Copy(ctx context.Context, p *term.Console, src, dst Store, tenant, session string) error {
	c := copying{Console: p, src: src, dst: dst, codecs: library.Codecs(), done: d}
	return c.run(ctx, tenant, session)
}

// run copies session by session. The most recently used comes last, so that DST lists them
// in the same order.
func (c *copying) run(ctx context.Context, tenant, session string) error {
	list, err := library.Stored(ctx, c.src, tenant)
	if err != nil {
		return err
	}
	if session != "" {
		list = slices.DeleteFunc(list, func(i store.SessionInfo) bool {
			return i.Key.Session != session && i.Key.String() != session
		})
		if len(list) == 0 {
			return fmt.Errorf("session %q: %w", session, store.ErrNotFound)
		}
	}
	slices.Reverse(list)
	c.tells = c.Progress()
	defer c.tells.Done()
	c.done.Sessions = len(list)
	for i, info := range list {
		c.doing = fmt.Sprintf("session %d of %s", i+1, term.Thousands(len(list)))
		switch err := c.session(ctx, info); {
		case ctx.Err() != nil:
			return ctx.Err()
		case onlyThis(err):
			c.done.Problems = append(c.done.Problems, Problem{info.Key.Tenant, info.Key.Session, err.Error()})
		case err != nil:
			return fmt.Errorf("session %s: %w", info.Key.String(), err)
		}
	}
	return nil
}

// onlyThis reports whether an error is about one session, so that others may still be copied.
func onlyThis(err error) bool {
	return errors.Is(err, errOtherContent) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) ||
		errors.Is(err, store.ErrNotFound)
}

var errOtherContent = errors.New("DST has a session of that name with other content")

// session copies the entries of a session that DST does not have, and compares all of them.
func (c *copying) session(ctx context.Context, info store.SessionInfo) error {
	there, err := c.compare(ctx, info, false)
	if err != nil {
		return err
	}
	added, err := c.add(ctx, info, there)
	if err != nil {
		return err
	}
	n, err := c.compare(ctx, info, true)
	if err != nil {
		return err
	}
	switch c.done.Compared += min(n, info.Entries); {
	case n < info.Entries:
		return fmt.Errorf("DST has %s of %d: %w", EntryCount(n), info.Entries, store.ErrCorrupt)
	case added > 0:
		c.done.Copied++
	case n > info.Entries:
		c.done.Ahead++
	default:
		c.done.Same++
	}
	return nil
}

// compare compares the entries that DST has of a session with those of SRC. With bodies it
// also reads every body from DST, which checks it against its hash. It returns how many
// entries DST has.
func (c *copying) compare(ctx context.Context, info store.SessionInfo, bodies bool) (n uint64, err error) {
	next, stop := iter.Pull2(c.src.Scan(ctx, info.Key, 1))
	defer stop()
	for there, err := range c.dst.Scan(ctx, info.Key, 1) {
		if err != nil {
			return n, fmt.Errorf("DST: %w", err)
		}
		n++
		here, err, ok := next()
		if err != nil {
			return n, fmt.Errorf("SRC: %w", err)
		}
		if !ok { // SRC ends here
			continue
		}
		if !equalEntries(here, there) {
			return n, fmt.Errorf("%w, different from entry %d (%s) on; it was left as it is", errOtherContent,
				n, there.Kind)
		}
		if bodies && there.BodySize > 0 {
			if _, err := c.dst.Body(ctx, info.Key, there.BodyHash); err != nil {
				return n, fmt.Errorf("DST: %w", err)
			}
		}
		if bodies {
			c.tells.Say("%s: comparing %d of %s", c.doing, n, EntryCount(info.Entries))
		}
	}
	return n, nil
}

// equalEntries compares what Scan yields of two entries.
func equalEntries(a, b store.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Label == b.Label && a.Time.Equal(b.Time) &&
		bytes.Equal(a.Data, b.Data) && a.BodyHash == b.BodyHash && a.BodySize == b.BodySize
}

// add appends the entries of SRC after number last.
func (c *copying) add(ctx context.Context, info store.SessionInfo, last uint64) (added uint64, err error) {
	w := entryWriter{store: c.dst, key: info.Key, last: last}
	defer func() {
		added = w.added
		c.done.Entries += w.added
		c.done.Bytes += w.bytes
	}()
	for e, err := range c.src.Scan(ctx, info.Key, last+1) {
		if err == nil && e.BodySize > 0 {
			e.Body, err = c.src.Body(ctx, info.Key, e.BodyHash)
		}
		if err != nil {
			return 0, fmt.Errorf("SRC: %w", err)
		}
		if e.Text, err = pleat.StoredText(e, c.codecs); err != nil {
			c.done.Mute++
		}
		if err := w.add(ctx, e); err != nil {
			return 0, fmt.Errorf("DST: %w", err)
		}
		c.tells.Say("%s: copying %d of %s", c.doing, e.Seq, EntryCount(info.Entries))
	}
	if err := w.flush(ctx); err != nil {
		return 0, fmt.Errorf("DST: %w", err)
	}
	return 0, nil
}

// Copied is what "pleat store copy --json" prints.
type Copied struct {
	Format   string    `json:"format"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Sessions int       `json:"sessions"` // of SRC that were chosen
	Copied   int       `json:"copied"`   // of which entries were copied
	Same     int       `json:"same"`     // that DST had already
	Ahead    int       `json:"ahead"`    // that have more entries in DST
	Entries  uint64    `json:"entries"`  // that were copied
	Bytes    int64     `json:"bytes"`    // of their bodies
	Compared uint64    `json:"compared"` // entries read again from DST
	Mute     int       `json:"mute"`     // messages that search will not find: their text cannot be read
	Problems []Problem `json:"problems"` // sessions that are different in DST
}

// Problem is a session that was not copied.
type Problem struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
	What    string `json:"what"`
}

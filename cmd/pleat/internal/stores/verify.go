package stores

import (
	"context"
	"errors"
	"fmt"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Verified is what was checked, and what is damaged.
type Verified struct {
	Format   string   `json:"format"`
	Sessions int      `json:"sessions"`
	Entries  uint64   `json:"entries"`
	Bytes    int64    `json:"bytes"`
	Folds    int      `json:"folds"`
	Damage   []Damage `json:"damage"`
}

// Damage is one thing that is not as it was stored.
type Damage struct {
	Session string `json:"session,omitempty"`
	Entry   uint64 `json:"entry,omitempty"`
	What    string `json:"what"`
}

// Verify checks a store. Damage is part of the result, not an error.
func Verify(ctx context.Context, p *term.Console, st Store, tenant string) (*Verified, error) {
	v := &Verified{Format: "pleat/verify/1", Damage: []Damage{}}
	tell := p.Progress()
	defer tell.Done()
	tell.Say("hashing every entry and body")
	for d, err := range st.Verify(ctx) {
		if err != nil {
			return nil, err
		}
		v.Damage = append(v.Damage, Damage{d.Key.String(), d.Seq, d.What})
		tell.Say("hashing every entry and body: %d damaged", len(v.Damage))
	}
	list, err := library.Stored(ctx, st, tenant)
	if errors.Is(err, store.ErrCorrupt) && len(v.Damage) > 0 {
		return v, nil // the damage is listed; the sessions cannot be
	}
	if err != nil {
		return nil, err
	}
	hashed := len(v.Damage)
	for i, info := range list {
		tell.Share(i, len(list), "unfolding sessions")
		folds, problems, err := checkSession(ctx, st, info.Key, tell)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || hashed > 0 {
			v.Damage = append(v.Damage, unreadable(ctx, st, info.Key, err)...)
		}
		for _, what := range problems {
			v.Damage = append(v.Damage, Damage{Session: info.Key.String(), What: what})
		}
		v.Sessions++
		v.Entries += info.Entries
		v.Bytes += info.BodyBytes
		v.Folds += folds
	}
	return v, nil
}

// unreadable lists the entries of a session that cannot be read. If there are none, it gives
// the reason why the session does not open.
func unreadable(ctx context.Context, store store.Store, key store.SessionKey, opening error) []Damage {
	var list []Damage
	for e, err := range store.Scan(ctx, key, 1) {
		if err != nil {
			break
		}
		if e.BodySize == 0 {
			continue
		}
		if _, err := store.Body(ctx, key, e.BodyHash); err != nil {
			size := term.ByteSize(int64(e.BodySize))
			what := fmt.Sprintf("%s of %s cannot be read: its body %s is damaged", e.Kind, size, e.BodyHash)
			list = append(list, Damage{key.String(), e.Seq, what})
		}
	}
	if len(list) == 0 && opening != nil {
		list = append(list, Damage{Session: key.String(), What: opening.Error()})
	}
	return list
}

// checkSession opens a session and unfolds every fold ever made in it. It returns how many
// came back exactly, and what is wrong with the others.
func checkSession(
	ctx context.Context, store store.Store, key store.SessionKey, tell *term.Progress,
) (folds int, problems []string, err error) {
	s, err := pleat.OpenSession(ctx, store, key, library.Roughly())
	if err != nil {
		return 0, nil, err
	}
	list := s.Folds()
	for i, f := range list {
		if err := ctx.Err(); err != nil {
			return folds, problems, err
		}
		tell.Say("unfolding %d of %s of session %s", i+1, term.Plural(len(list), "fold"), key.Session)
		u, err := s.Unfold(ctx, recall.UnfoldRequest{Handle: f.Handle})
		if err == nil && transcript.HashOf(u.Whole) != f.Hash {
			err = errors.New("it has other content now")
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("fold %d (%s, %s): %v", f.ID, f.Lever, f.Handle, err))
			continue
		}
		folds++
	}
	return folds, problems, nil
}

// Print implements [term.Result].
func (v *Verified) Print(p *term.Page) {
	for _, d := range v.Damage {
		p.Line("%s", d)
	}
	p.Line("%s, %s, %s hashed; %s unfolded exactly.", term.Plural(v.Sessions, "session"), EntryCount(v.Entries),
		term.ByteSize(v.Bytes), term.Plural(v.Folds, "fold"))
}

// Verdict is an error if anything is damaged.
func (v *Verified) Verdict() error {
	if n := len(v.Damage); n > 0 {
		return fmt.Errorf("%s damaged (what is not listed is intact; "+
			"\"pleat store import\" of an earlier export repairs a session)", term.Verb(n, "thing", "is", "are"))
	}
	return nil
}

// String describes the damage on one line.
func (d Damage) String() string {
	where := ""
	if d.Session != "" {
		where = "session " + d.Session + ": "
	}
	if d.Entry > 0 {
		where = fmt.Sprintf("session %s, entry %d: ", d.Session, d.Entry)
	}
	return "damaged: " + where + d.What
}

package epoch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// told is a model's digest, and the number of its entry.
type told struct {
	fold.Narrative
	seq uint64
}

// keptDigests is how many digests are remembered: the newest is used, the one before it may
// be the last that fits a focus.
const keptDigests = 4

// Tell adds a stored digest by a model. It ignores one that was written for other messages
// than these, which have the hash source.
func (s *State) Tell(n fold.Narrative, source transcript.Hash, seq uint64) {
	if n.Text == "" || n.Start < 0 || n.End > s.Len() || n.Start >= n.End || s.SourceHash(n.Start, n.End) != source {
		return
	}
	s.told = append(s.told, told{n, seq})
	if len(s.told) > keptDigests {
		s.told = s.told[1:]
	}
}

// NewestTold is the number of the newest usable digest's entry; 0: there is none.
func (s *State) NewestTold() uint64 {
	if n := len(s.told); n > 0 {
		return s.told[n-1].seq
	}
	return 0
}

// ToldBefore returns the newest digest that begins and ends within messages before end, and
// not after start; nil: there is none.
func (s *State) ToldBefore(start, end int) *fold.Narrative {
	for i := len(s.told) - 1; i >= 0; i-- {
		if t := &s.told[i]; t.End <= end && t.Start <= start {
			return &t.Narrative
		}
	}
	return nil
}

// SourceHash identifies messages start ≤ i < end: a digest is used only for the messages
// that it was written for.
func (s *State) SourceHash(start, end int) transcript.Hash {
	h := sha256.New()
	var n [8]byte
	for i := start; i < end; i++ {
		f := &s.Facts()[i]
		binary.LittleEndian.PutUint32(n[:4], uint32(len(f.Blocks)))
		binary.LittleEndian.PutUint32(n[4:], uint32(len(f.Role)))
		h.Write(n[:])
		h.Write([]byte(f.Role))
		for b := range f.Blocks {
			h.Write([]byte{byte(f.Blocks[b].Kind)})
			h.Write(f.Blocks[b].Hash[:])
		}
	}
	return transcript.Hash(h.Sum(nil))
}

// Content returns the text at a place, checked against every hash on record.
func (s *State) Content(ctx context.Context, p transcript.Place, handle string) (string, error) {
	var text string
	var want transcript.Hash
	if p.Block < 0 {
		var err error
		if text, err = s.RenderText(ctx, p.Start, p.End); err != nil {
			return "", err
		}
	} else {
		ref := transcript.BlockRef{Message: p.Start, Block: p.Block}
		b, err := s.Block(ctx, ref)
		if err != nil {
			return "", err
		}
		text, want = transcript.BlockText(b), s.Facts().Block(ref).Hash
	}
	got := transcript.HashOf(text)
	damaged := !want.IsZero() && got != want
	for _, f := range s.Folds {
		damaged = damaged || f.Handle == handle && f.Hash != got
	}
	if damaged {
		return "", fmt.Errorf("the content does not have the hash it was folded under: %w", store.ErrCorrupt)
	}
	return text, nil
}

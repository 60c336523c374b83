package epoch

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// expected is how many more requests a session is expected to make: one and a half times
// as many as it has made, and at most 100. Nobody knows, but the longer a session has been
// going on, the longer it is likely to go on. Function affordable limits that bet.
func (s *State) expected() float64 {
	return min(1.5*float64(s.answers), 100)
}

// spending is what the answered requests of a session came to, in tokens.
type spending struct {
	sent      int // of the whole transcript, in the newest request
	again     int // what would have been sent a second time without folds, all requests together
	saved     int // what was not sent because of folds, all requests together
	rewritten int // what epochs caused to be written to the cache a second time
}

// answered records the request that the next message answers: the view as it is now.
func (s *State) answered() {
	if s.answers > 0 {
		s.spent.again += s.Layout.Head.Total() + s.spent.sent
	}
	s.answers++
	s.heard = s.Len()
	s.asked = s.heard
	if s.Forked && s.Marked > 0 {
		s.asked = min(s.heard, s.Marked)
	}
	s.spent.sent = s.Whole()
	s.spent.saved += s.Layout.Head.Total() + s.Whole() - s.Parts.Total()
}

// seen is how many messages count as seen by a model: not those of a turn that is not over.
func (s *State) seen() int {
	if s.Since > 0 {
		return min(s.asked, s.Since)
	}
	return s.asked
}

// Most sessions are short, and end before an epoch that nothing forced has paid for itself.
// So a session with fewer than youngRequests may open one only if, were this request its
// last, it would have cost at most youngLoss more than without folds.
const (
	youngRequests = 40
	youngLoss     = 0.02
)

// affordable reports whether the session may take on what an epoch costs.
func (s *State) affordable(r model.Rates, c fold.CacheCost) bool {
	if s.answers >= youngRequests {
		return true
	}
	head := s.Layout.Head.Total()
	without := r.Write*float64(head+s.Whole()) + r.Read*float64(s.spent.again+head+s.spent.sent)
	paid := (r.Write - r.Read) * float64(s.spent.rewritten+c.Rewritten)
	saved := r.Read * float64(s.spent.saved+head+s.Whole()-s.Parts.Total()+c.Removed)
	return paid-saved <= youngLoss*without
}

// walkBack bounds how far back a turn looks for results worth folding: the cost of a turn
// must not grow with the history, and further back the rewriting only gets dearer.
const walkBack = 1024

// patience is for how many requests an epoch waits for the newest results. They are kept
// now and will be folded soon; an epoch before that writes them to the cache for nothing.
const patience = 2

// PayingFrom finds the place from which folding old results pays best: walking from the
// newest message to the oldest, every starting point has a gain, and the best one wins if
// it is positive and waiting is not cheaper. It returns the first message to fold results
// in, or -1.
//
// Only what was sent before can be in the cache: what came after the newest answered
// request is written in any case.
func (s *State) PayingFrom(l fold.Saver, r model.Rates, cold bool) (int, fold.CacheCost) {
	best, at := fold.CacheCost{}, -1
	keep, suffix, removed, soon := l.Keeps(), 0, 0, 0
	for i := s.Len() - 1; i >= max(s.Len()-walkBack, 0); i-- {
		if s.Layout.In.Overlaps(i, i+1) {
			break // what is folded as a stretch has no results left to fold
		}
		found := false
		for b := len(s.Facts()[i].Blocks) - 1; b >= 0; b-- {
			if s.Facts()[i].Blocks[b].Kind != transcript.KindToolResult {
				continue
			}
			keep--
			r := s.Layout.Result(transcript.BlockRef{Message: i, Block: b})
			saves := min(l.Saves(r), int(r.Tokens))
			switch {
			case i >= s.seen() || saves <= 0:
			case keep >= 0:
				soon += saves
			default:
				removed += saves
				found = true
			}
		}
		if i < s.asked {
			parts, _ := s.Layout.PartsOf(i)
			suffix += parts.Total()
		}
		if !found {
			continue
		}
		c := fold.WeighCache(r, removed, max(suffix-removed, 0), s.expected(), cold)
		if c.Gain > best.Gain && (cold || s.affordable(r, c)) {
			best, at = c, i
		}
	}
	if wait := patience * r.Read * float64(best.Removed); !cold && wait < (r.Write-r.Read)*float64(soon) {
		return -1, fold.CacheCost{}
	}
	return at, best
}

package fold

import (
	"iter"

	"github.com/pleat-dev/pleat/transcript"
)

// ruled is how much of the view may go to what folded system messages say. They are clients'
// instructions for what comes after them, and some clients send one with every turn.
var ruled = part{1, 8}

// acknowledged comes between a system message that stands behind a stub and the user's words.
const acknowledged = "Understood."

// standing yields the messages start ≤ i < end that the view shows although their stretch is
// folded, the newest first: the newest memory that the provider made of what came before, every
// change of tools and settings, and of what else system messages say the newest.
func (d *Draft) standing(start, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		room, memory := ruled.take(d.Limits.Target), false
		for i := end - 1; i >= max(start, d.facts.Prompt()); i-- {
			f := &d.facts[i]
			system := d.facts.System(i)
			switch {
			case f.Stands && system:
			case f.Stands:
				if memory {
					continue
				}
				memory = true
			case system && !f.Typed && f.Origin != transcript.OriginInjected && d.facts.Tokens(i, i+1) <= room:
				room -= d.facts.Tokens(i, i+1)
			default:
				continue
			}
			if !yield(i) {
				return
			}
		}
	}
}

// shown returns what messages take that stand in a folded stretch.
func (d *Draft) shown(stands iter.Seq[int]) (parts Parts) {
	for i := range stands {
		f := &d.facts[i]
		for b := range f.Blocks {
			if bf := &f.Blocks[b]; d.facts.System(i) || bf.Kind == transcript.KindOpaque {
				*parts.of(bf.Kind, f.Role) += int(bf.Tokens)
			}
		}
		*parts.of(transcript.KindText, f.Role) += int(f.Extra)
	}
	return parts
}

// appendStanding appends what a folded stretch still shows, up to the provider's memory or behind
// it: system messages whole, and of an answer the provider's blocks.
func (l *Layout) appendStanding(view []transcript.ViewMessage, f *Fold, behind bool) []transcript.ViewMessage {
	facts := l.Facts()
	to := 0 // behind the memory
	for k, i := range f.Stands {
		if !facts.System(i) {
			to = k + 1
		}
	}
	list := f.Stands[:to]
	if behind {
		list = f.Stands[to:]
	}
	for _, i := range list {
		vm := transcript.ViewMessage{Source: i}
		for b := range facts[i].Blocks {
			if !facts.System(i) && facts[i].Blocks[b].Kind != transcript.KindOpaque {
				vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: b, Drop: true})
			}
		}
		view = append(view, vm)
	}
	return view
}

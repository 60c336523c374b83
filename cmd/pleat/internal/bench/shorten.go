package bench

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// shorten makes a view of messages fit a budget the way a program without ideas does: the oldest
// messages go, rounds as a whole, and where even the newest round is too large its
// results are cut. Views that fit are left alone. So every arm is scored on something
// that could have been sent.
func shorten(
	v transcript.View, msgs []transcript.Message, budget int, tokens *tokens.Tokenizer,
) transcript.View {
	room := budget - tokens.CountMessage(removed)
	at, total := len(msgs), 0
	for _, m := range msgs {
		total += tokens.CountMessage(m)
	}
	if total <= budget+budget/tolerance {
		return v
	}
	for at > 0 {
		size := tokens.CountMessage(msgs[at-1])
		if size > room {
			break
		}
		room -= size
		at--
	}
	shown := transcript.NewTranscript(msgs...)
	rounds := shown.Rounds()
	if whole := wholeRounds(shown, at); whole < len(msgs) &&
		(whole == at || len(rounds) == 0 || whole <= rounds[len(rounds)-1].Start) {
		return from(v, msgs, whole)
	}
	return cutNewest(v, msgs, shown, budget-tokens.CountMessage(removed), tokens)
}

// tolerance: a fiftieth more than the budget is the same size, counted in another way. A
// message that was edited is counted without the bytes that it came in.
const tolerance = 50

// removed says where messages were.
var removed = transcript.User("[earlier messages removed]").WithOrigin(transcript.OriginInjected)

// from is the view without its first messages. Providers want a user message first.
func from(v transcript.View, msgs []transcript.Message, at int) transcript.View {
	out := transcript.View{DropThinking: v.DropThinking}
	if at > 0 && (msgs[at].Role() != transcript.RoleUser || msgs[at].Blocks().Has(transcript.KindToolResult)) {
		out.Messages = append(out.Messages, transcript.ViewMessage{Source: -1, Made: removed})
	}
	out.Messages = append(out.Messages, v.Messages[at:]...)
	return out
}

// wholeRounds moves a cut to where it goes through no round.
func wholeRounds(t *transcript.Transcript, at int) int {
	for _, r := range t.Rounds() {
		if r.Start < at && at < r.End {
			at = r.End
		}
	}
	return at
}

// cutNewest shows the newest round, or message, alone, with its results cut to what
// there is room for.
func cutNewest(
	v transcript.View, msgs []transcript.Message, t *transcript.Transcript, room int, tokens *tokens.Tokenizer,
) transcript.View {
	at := len(msgs) - 1
	if rounds := t.Rounds(); len(rounds) > 0 {
		at = min(at, rounds[len(rounds)-1].Start)
	}
	type place struct{ message, block, size int }
	var long []place
	for i := at; i < len(msgs); i++ {
		room -= tokens.CountMessage(msgs[i])
		for b, blk := range msgs[i].Blocks().All() {
			if res, ok := blk.(transcript.ToolResult); ok {
				long = append(long, place{i, b, tokens.CountText(res.Text())})
			}
		}
	}
	slices.SortStableFunc(long, func(a, b place) int { return b.size - a.size })
	out := from(v, msgs, at)
	shift := len(out.Messages) - len(msgs)
	for _, p := range long {
		if room >= 0 {
			break
		}
		keep := max(p.size+room-20, 20)
		text := msgs[p.message].Blocks().At(p.block).(transcript.ToolResult).Text()
		text = strings.ToValidUTF8(text[:min(len(text)*keep/max(p.size, 1), len(text))], "") + " [cut]"
		room += p.size - tokens.CountText(text)
		vm := &out.Messages[p.message+shift]
		if vm.Source < 0 {
			continue
		}
		vm.Edits = slices.DeleteFunc(slices.Clone(vm.Edits), func(e transcript.BlockEdit) bool { return e.Block == p.block })
		vm.Edits = append(vm.Edits, transcript.BlockEdit{Block: p.block, Text: text})
		slices.SortFunc(vm.Edits, func(a, b transcript.BlockEdit) int { return a.Block - b.Block })
	}
	return out
}

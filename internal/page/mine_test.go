package page

import (
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// TestMinedFrom: of a long stretch the newest part is mined, each kind of text for itself, and
// one long text keeps out neither other kinds nor all that came before it.
func TestMinedFrom(t *testing.T) {
	block := func(k transcript.Kind, bytes uint32) transcript.MessageFacts {
		return transcript.MessageFacts{Blocks: []transcript.BlockFacts{{Kind: k, Bytes: bytes}}}
	}
	typed := block(transcript.KindText, 1<<20)
	typed.Typed = true
	said, call, result := block(
		transcript.KindText,
		1<<10,
	), block(
		transcript.KindToolCall,
		100,
	), block(
		transcript.KindToolResult,
		8<<10,
	)
	long := block(transcript.KindToolResult, 4<<20)
	many := func(n int, turn ...transcript.MessageFacts) (facts []transcript.MessageFacts) {
		for range n {
			facts = append(facts, turn...)
		}
		return facts
	}
	for _, tt := range []struct {
		name  string
		facts []transcript.MessageFacts
		want  [len(minedMost)]int // what was said and thought, results, calls
	}{
		{"short", many(10, said, call, result), [4]int{}},
		{"results fill it first", many(40, said, call, result), [...]int{0, 0, 120 - 3*32, 0}},
		{"then what was said", many(200, said, call, result), [...]int{600 - 3*128 - 2, 0, 600 - 3*32, 0}},
		{"typed words have a section of their own", many(10, typed, said, call, result), [4]int{}},
		{"one long result", append(many(20, said, call, result), long), [4]int{}},
		{
			"many messages", many(2*minedMessages, call),
			[...]int{minedMessages, minedMessages, minedMessages, 2*minedMessages - 655},
		},
	} {
		m := NewWriter(known{facts: tt.facts})
		got := m.minedFrom(0, len(tt.facts))
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// known is a conversation of which only the facts are known.
type known struct {
	Source
	facts transcript.Facts
}

func (k known) Facts() transcript.Facts { return k.facts }

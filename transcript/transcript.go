package transcript

import (
	"iter"
	"slices"
	"strings"
)

// BlockRef is the position of a block: message and block, both counted from 0. It never
// changes, because a transcript only grows at its end.
type BlockRef struct{ Message, Block int }

// Place is what a handle stands for: a block, or messages Start ≤ i < End if Block is
// negative.
type Place struct{ Start, End, Block int }

// CallState is a tool call and the position of its result.
type CallState struct {
	ID       string
	Call     BlockRef
	Result   BlockRef // meaningful only if Answered
	Answered bool
}

// Round is an answer of the model that calls tools, with every result that answers it.
// A view shows a call and its result together or not at all; a stub may stand for the
// content of the result.
//
// On wires where one answer is several elements, the consecutive assistant elements
// make one round. Start to End covers everything from the first of them to the last
// result, and anything in between.
type Round struct {
	Start, End int // messages Start ≤ i < End
	Calls      []CallState
}

// Open reports whether a call of the round has no result yet.
func (r Round) Open() bool {
	return slices.ContainsFunc(r.Calls, func(c CallState) bool { return !c.Answered })
}

// Transcript is everything that was said, in order. It grows; appending a message
// takes the same time whatever the length. It is not safe for concurrent use.
type Transcript struct {
	msgs    []Message
	read    func(i int) Message // see ReadThrough; if set, msgs is empty
	sizes   []int32             // number of blocks of each message
	rounds  []Round
	orphans []BlockRef
	open    map[string][]callAt // unanswered calls by id, oldest first
	turn    int                 // 1 + index of the round that may still grow, else 0
	turnAt  int                 // first message of the current run of assistant messages
	ties    ties
}

type callAt struct{ round, call int }

// NewTranscript makes a transcript of the given messages.
func NewTranscript(msgs ...Message) *Transcript {
	t := &Transcript{}
	t.Append(msgs...)
	return t
}

// Len is the number of messages.
func (t *Transcript) Len() int { return len(t.sizes) }

// At returns message i.
func (t *Transcript) At(i int) Message {
	if t.read != nil {
		return t.read(i)
	}
	return t.msgs[i]
}

// Block returns the block at a position.
func (t *Transcript) Block(ref BlockRef) Block { return t.At(ref.Message).Blocks().At(ref.Block) }

// All yields the messages with their positions.
func (t *Transcript) All() iter.Seq2[int, Message] {
	return func(yield func(int, Message) bool) {
		for i := range t.sizes {
			if !yield(i, t.At(i)) {
				return
			}
		}
	}
}

// Rounds returns the rounds in order of their first messages. The caller must not change
// them.
func (t *Transcript) Rounds() []Round { return t.rounds }

// Forgetful makes an empty transcript that does not keep the messages it is given: it knows
// their rounds. [Transcript.ReadThrough] reads them from elsewhere.
func Forgetful() Transcript {
	return Transcript{read: func(int) Message { panic("transcript: the messages were not kept") }}
}

// ReadThrough returns the transcript as it is now, with messages that are got from read.
func (t *Transcript) ReadThrough(read func(i int) Message) *Transcript {
	c := *t
	c.read = read
	return &c
}

// Orphans returns the results that answer no call before them, or a call that has its
// answer already.
func (t *Transcript) Orphans() []BlockRef { return slices.Clone(t.orphans) }

// Append adds messages at the end. It returns the first message that the newest is tied to, and with it all between
// the two, the newest itself if there is none; and whether it cannot be without the thinking among them.
func (t *Transcript) Append(msgs ...Message) (tied int, thinking bool) {
	for _, m := range msgs {
		t.append(m)
	}
	return t.ties.from, t.ties.thinks
}

func (t *Transcript) append(m Message) {
	at := len(t.sizes)
	if t.read == nil {
		t.msgs = append(t.msgs, m)
	}
	t.sizes = append(t.sizes, int32(m.Blocks().Len()))
	if m.Role() != RoleAssistant {
		t.turn, t.turnAt = 0, at+1
	}
	t.tie(at, m)
	for i, b := range m.Blocks().list {
		switch b := b.(type) {
		case ToolCall:
			t.call(b.ID, BlockRef{at, i})
		case ToolResult:
			t.result(b.CallID, BlockRef{at, i})
		}
	}
	if t.turn > 0 { // trailing text of an answer belongs to its round
		r := &t.rounds[t.turn-1]
		r.End = max(r.End, at+1)
	}
}

// TakeOut takes messages start ≤ i < end out, which have no calls and no results. Those behind them move up.
// Again, if it is not nil, takes the place of the message before them, which has more text at its end.
func (t *Transcript) TakeOut(start, end int, again *Message) {
	if again != nil {
		t.sizes[start-1] = int32(again.Blocks().Len())
		if t.read == nil {
			t.msgs[start-1] = *again
		}
	}
	moved := func(at *int) { // a message, or a place between two
		if *at >= end {
			*at -= end - start
		} else {
			*at = min(*at, start)
		}
	}
	if t.read == nil {
		t.msgs = slices.Delete(t.msgs, start, end)
	}
	t.sizes = slices.Delete(t.sizes, start, end)
	moved(&t.turnAt)
	t.ties.takeOut(start, end, moved)
	for i := range t.orphans {
		moved(&t.orphans[i].Message)
	}
	for i := len(t.rounds) - 1; i >= 0 && t.rounds[i].End > start; i-- {
		r := &t.rounds[i]
		moved(&r.Start)
		moved(&r.End)
		for k := range r.Calls {
			moved(&r.Calls[k].Call.Message)
			moved(&r.Calls[k].Result.Message)
		}
	}
}

func (t *Transcript) call(id string, ref BlockRef) {
	if t.read != nil {
		id = strings.Clone(id) // do not hold on to the message
	}
	if t.turn == 0 {
		t.rounds = append(t.rounds, Round{Start: min(t.turnAt, ref.Message), End: ref.Message + 1})
		t.turn = len(t.rounds)
	}
	r := &t.rounds[t.turn-1]
	r.Calls = append(r.Calls, CallState{ID: id, Call: ref})
	if t.open == nil {
		t.open = make(map[string][]callAt)
	}
	t.open[id] = append(t.open[id], callAt{t.turn - 1, len(r.Calls) - 1})
}

// result binds a result to the newest unanswered call with its id: ids are sometimes
// used again, and then the older call was abandoned. Within one answer the first of
// several equal ids comes first.
func (t *Transcript) result(id string, ref BlockRef) {
	waiting := t.open[id]
	if len(waiting) == 0 && t.ties.refers > 0 { // one of the references stands for the call
		t.ties.bind(BlockRef{t.ties.refers - 1, 0}, ref)
		return
	}
	if len(waiting) == 0 {
		t.orphans = append(t.orphans, ref)
		return
	}
	i := len(waiting) - 1
	for i > 0 && waiting[i-1].round == waiting[i].round {
		i--
	}
	at := waiting[i]
	if waiting = slices.Delete(waiting, i, i+1); len(waiting) == 0 {
		delete(t.open, id)
	} else {
		t.open[id] = waiting
	}
	r := &t.rounds[at.round]
	r.Calls[at.call].Result, r.Calls[at.call].Answered = ref, true
	r.End = max(r.End, ref.Message+1)
}

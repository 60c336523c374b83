package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Prices is a price list to replay sessions with, and what is known of the cache behind
// it.
type Prices struct {
	Name  string
	Model model.Model // its first price tiers, and the least that is cached
	// TTL is how long a prefix lives after it was last used; 0: for ever.
	TTL time.Duration
	// Markers: a prefix is cached only where a request had a marker, and found only within
	// twenty blocks before one. Without, the longest prefix that was ever sent is found.
	Markers bool
}

// DefaultPrices are the relative prices that the bench's aims are stated in, with a cache
// that never dies, and two real models with the shorter lives of their caches.
func DefaultPrices() []Prices {
	list := []Prices{relative(1.25, 0.1), relative(1.25, 0.05)}
	for _, id := range []string{"claude-sonnet-5-5", "gpt-6.1-terra"} {
		m, _ := model.DefaultModels().Lookup(id) // they are there
		ttl := m.Cache.TTL[0]
		list = append(list, Prices{
			Name: fmt.Sprintf("%s, cache %.0f min", m.ID, ttl.Minutes()), TTL: ttl, Markers: m.Provider == "anthropic",
			Model: model.Model{
				ID: m.ID, Prices: m.Prices, Cache: model.CacheRule{Minimum: m.Cache.Minimum, TTL: []time.Duration{ttl}},
			},
		})
	}
	return list
}

func relative(write, read float64) Prices {
	return Prices{
		Name: fmt.Sprintf("write %gx, read %gx, always warm", write, read),
		Model: model.Model{
			ID: "relative", Prices: []model.Price{{Input: 1, CacheWrite: write, CacheRead: read, Output: 5}},
		},
	}
}

// The simulation's givens, the same for all arms.
const (
	fixedTokens  = 20_000  // system prompt and tools
	replayWindow = 200_000 // of the model
	longSession  = 40      // requests from which a session counts as long

	// A need that was folded away costs a round: a call, a request more, and its answer,
	// which stays for a while.
	recallCall   = 60
	recallAnswer = 2_250 // mean of the answers to searches in the public sessions
	recallStays  = 20    // requests
)

// step is one request of a replay.
type step struct {
	prompt  int // tokens of the view
	common  int // of them, those that the request before began with
	found   int // of them, those that are found again by markers
	gap     time.Duration
	changed bool // something that was sent before is different now
	recall  bool // the answer needs something that the view does not show
	asked   int  // tokens of the request before it in which an agent asked for a summary; 0: there was none
}

// cost is what the steps cost by a price list, in the list's unit for a million tokens.
// Answers cost the same with every method and are left out.
func (p Prices) cost(steps []step, recalls bool) float64 {
	total := 0.0
	for i, s := range steps {
		prompt := fixedTokens + s.prompt
		price, _ := p.Model.PriceAt(prompt)
		if price.CacheWrite == 0 {
			price.CacheWrite = price.Input
		}
		cached := 0
		if i > 0 && (p.TTL == 0 || s.gap <= p.TTL) {
			cached = fixedTokens + s.common
			if p.Markers {
				cached = fixedTokens + s.found
			}
			if cached < p.Model.Cache.Minimum {
				cached = 0
			}
		}
		total += float64(cached)*price.CacheRead + float64(prompt-cached)*price.CacheWrite
		if s.asked > 0 {
			total += float64(s.asked)*price.CacheRead + AgentSummary*price.Output
		}
		if recalls && s.recall {
			stays := min(recallStays, len(steps)-1-i)
			total += float64(prompt)*price.CacheRead + recallCall*price.Output +
				recallAnswer*(price.CacheWrite+float64(stays)*price.CacheRead)
		}
	}
	return total / 1e6
}

// replay plays a session turn by turn and writes down what each request is.
func (w *worker) replay(ctx context.Context, arm Arm, m model.Model, needs []need) ([]step, error) {
	method, err := arm.Open(ctx, Setup{Budget: replayWindow, Replay: true, Paid: true, Tokens: w.tokens, Model: m})
	if err != nil {
		return nil, err
	}
	t := &tape{s: w.s, tokens: w.tokens, sizes: make(map[int]int), needs: needs}
	if err := w.s.play(ctx, method, len(w.s.Messages), true, t.request); err != nil {
		return nil, fmt.Errorf("replay arm %s: %w", arm.Name, err)
	}
	return t.steps, nil
}

// play puts the first n messages of a session to a method one by one. Before each answer, which begins with
// message next, request gets the view, and how long after the last it was asked for if that counts.
func (s *Session) play(
	ctx context.Context, m Method, n int, timed bool, request func(v transcript.View, gap time.Duration, next int) error,
) error {
	last := time.Time{}
	for i, msg := range s.Messages[:n] {
		if i > 0 && answers(s.Messages, i) {
			gap := time.Duration(0)
			if timed && len(s.Times) > i && !s.Times[i].IsZero() {
				if !last.IsZero() && s.Times[i].After(last) {
					gap = s.Times[i].Sub(last)
				}
				last = s.Times[i]
			}
			v, err := m.View(ctx, gap)
			if err == nil {
				err = request(v, gap, i)
			}
			if err != nil {
				return fmt.Errorf("request before message %d: %w", i, err)
			}
		}
		if err := m.Append(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// tape is what a replay writes down.
type tape struct {
	s      *Session
	tokens *tokens.Tokenizer
	needs  []need

	steps []step
	view  []transcript.ViewMessage
	size  []int // tokens of each element of the view
	warm  fold.WarmPrefix
	sizes map[int]int // tokens of messages that are shown as they were
	made  map[string]bool
}

// request takes down the request that message next answers.
func (t *tape) request(v transcript.View, gap time.Duration, next int) error {
	same := 0
	for same < len(v.Messages) && same < len(t.view) && v.Messages[same].Same(t.view[same]) {
		same++
	}
	s := step{gap: gap, changed: same < len(t.view)}
	size := make([]int, len(v.Messages))
	copy(size, t.size[:same])
	for i := same; i < len(v.Messages); i++ {
		n, err := t.count(v.Messages[i])
		if err != nil {
			return err
		}
		size[i] = n
	}
	for i, n := range size {
		if s.prompt += n; i < same {
			s.common += n
		}
	}
	_, found := t.warm.Next(v, func(i int) (int, int) { return t.blocks(v.Messages[i]), size[i] })
	for _, n := range size[:found] {
		s.found += n
	}
	if s.changed || t.made == nil {
		t.made = t.madeNames(v)
	}
	t.view, t.size = slices.Clone(v.Messages), size
	s.recall = t.misses(next)
	t.steps = append(t.steps, s)
	return nil
}

func (t *tape) blocks(vm transcript.ViewMessage) int {
	if vm.Source >= 0 {
		return t.s.Messages[vm.Source].Blocks().Len()
	}
	return vm.Made.Blocks().Len()
}

func (t *tape) count(vm transcript.ViewMessage) (int, error) {
	if vm.Source >= 0 && len(vm.Edits) == 0 {
		n, ok := t.sizes[vm.Source]
		if !ok {
			n = t.tokens.CountMessage(t.s.Messages[vm.Source])
			t.sizes[vm.Source] = n
		}
		return n, nil
	}
	alone := transcript.NewTranscript()
	if vm.Source >= 0 {
		alone.Append(t.s.Messages[vm.Source])
		vm.Source = 0
	}
	msgs, err := transcript.View{Messages: []transcript.ViewMessage{vm}}.Resolve(alone)
	if err != nil {
		return 0, fmt.Errorf("count view: %w", err)
	}
	return t.tokens.CountMessage(msgs[0]), nil
}

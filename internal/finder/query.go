package finder

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/query"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// admits reports whether a query that narrows looks in a block.
func (f *Finder) admits(n *query.Narrowing, ref transcript.BlockRef, bf *transcript.BlockFacts) bool {
	b := Block{Role: f.Facts()[ref.Message].Role, Kind: bf.Kind, Typed: bf.Typed, Entry: f.entry(bf)}
	if !b.Admitted(n) {
		return false
	}
	if n.After == "" {
		return true
	}
	if number, err := strconv.Atoi(n.After); err == nil && len(n.After) < 8 {
		return ref.Message+1 > number
	}
	p, _, err := f.find(n.After)
	return err != nil || ref.Message >= p.End
}

// nearWords returns the words of the conversation that differ from a long word of the query
// by one letter, or by two that changed places. It reads the whole conversation.
func (f *Finder) nearWords(ctx context.Context, words []string) ([]string, error) {
	seen := make(map[string]bool)
	var near []string
	for i := f.Facts().Prompt(); i < len(f.Facts()); i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for w := range search.Words(conv.SearchText(f.read.Message(i))) {
			if seen[w] {
				continue
			}
			w = strings.Clone(w)
			seen[w] = true
			if slices.ContainsFunc(words, func(word string) bool { return query.IsSlip(word, w) }) {
				near = append(near, w)
			}
		}
	}
	return near, nil
}

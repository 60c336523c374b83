package recall

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/search"
	"github.com/pleat-dev/pleat/transcript"
)

// recallQuery is a query in the form that ranking needs.
type recallQuery struct {
	words  []string
	index  map[string]int // index in words of each word and of its other forms
	asked  string         // what a store is asked for: the words, then their other forms
	quoted []int          // words that must follow the one before them
	narrow narrowing
	bare   bool // it says where to look, and no words
}

// narrowing is what a query says of where to look.
type narrowing struct {
	file, tool string
	by         string // "user", "assistant", "tool"
	after      string // a handle, or the number of a message
}

func readQuery(query string) recallQuery {
	q := recallQuery{index: make(map[string]int)}
	var plain []string
	for _, word := range strings.Fields(query) {
		name, value, _ := strings.Cut(word, ":")
		switch {
		case value == "" || strings.HasPrefix(value, "/"): // a URL has slashes there
			plain = append(plain, word)
		case name == "file":
			q.narrow.file = value
		case name == "tool":
			q.narrow.tool = value
		case name == "by":
			q.narrow.by = value
		case name == "after":
			q.narrow.after = value
		default:
			plain = append(plain, word)
		}
	}
	if len(plain) == 0 {
		q.bare = q.narrows()
		plain = []string{q.narrow.file, q.narrow.tool}
	}
	query = strings.Join(plain, " ")
	q.words = search.QueryWords(query)
	for i, w := range q.words {
		q.index[w] = i
	}
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			for _, w := range search.QueryWords(part)[min(1, len(search.QueryWords(part))):] {
				q.quoted = append(q.quoted, q.index[w])
			}
		}
	}
	asked := q.words[:len(q.words):len(q.words)]
	for i, w := range q.words {
		for _, form := range wordForms(w) {
			if _, known := q.index[form]; !known {
				q.index[form] = i
				asked = append(asked, form)
			}
		}
	}
	q.asked = strings.Join(asked, " ")
	return q
}

// Words returns the words that a search for the query asks a store for.
func Words(query string) string { return readQuery(query).asked }

// narrows reports whether the query looks only in some places.
func (q *recallQuery) narrows() bool { return q.narrow != narrowing{} }

// Guesses reports whether a search that finds nothing looks for words near those of the query.
func Guesses(query string) bool {
	q := readQuery(query)
	return q.guesses()
}

// A query that narrows finds nothing because of where it looks: its words may well be right.
func (q *recallQuery) guesses() bool { return !q.narrows() && slices.ContainsFunc(q.words, isLong) }

// isLong reports whether a word is long enough to be known with a slip in it.
func isLong(w string) bool { return len(w) > 4 }

func (f *Finder) admits(n *narrowing, ref transcript.BlockRef, bf *transcript.BlockFacts) bool {
	if n.file != "" || n.tool != "" {
		if bf.Call == 0 {
			return false
		}
		e, calls := f.Ledger().Entry(int(bf.Call)), ledger.Filter{Path: n.file, Tool: n.tool}
		if !calls.Matches(&e) {
			return false
		}
	}
	switch role := f.Facts()[ref.Message].Role; n.by {
	case "":
	case "user":
		if !bf.Typed {
			return false
		}
	case "tool":
		if bf.Kind != transcript.KindToolResult {
			return false
		}
	default:
		if string(role) != n.by {
			return false
		}
	}
	if n.after == "" {
		return true
	}
	if number, err := strconv.Atoi(n.after); err == nil && len(n.after) < 8 {
		return ref.Message+1 > number
	}
	p, _, err := f.find(n.after)
	return err != nil || ref.Message >= p.End
}

// wordForms returns other forms of a word: the singular of a plural, the verb of "reading"
// and "removed", optout for opt-out. A store finds words as they were written, so it is
// asked for each form. The rules are those of English; a form that is no word finds nothing.
func wordForms(w string) []string {
	if strings.ContainsAny(w, "-_") {
		return []string{strings.NewReplacer("-", "", "_", "").Replace(w)}
	}
	if len(w) < 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return nil
	}
	ends := func(suffix string) bool { return strings.HasSuffix(w, suffix) }
	stem := func(cut int) string { return w[:len(w)-cut] }
	switch {
	case ends("ies") && len(w) > 4:
		return []string{stem(3) + "y"}
	case ends("sses"), ends("shes"), ends("ches"), ends("xes"):
		return []string{stem(2)}
	case ends("ss"):
		return []string{w + "es"}
	case ends("s"):
		return []string{stem(1)}
	case ends("ing") && len(w) > 5:
		return []string{stem(3), stem(3) + "e", stem(3) + "s", stem(3) + "ed"}
	case ends("ed") && len(w) > 4:
		return []string{stem(2), stem(1), stem(2) + "ing", stem(2) + "s"}
	case ends("y"):
		return []string{stem(1) + "ies"}
	}
	return []string{w + "s"}
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
		for w := range search.Words(conv.SearchText(f.message(i))) {
			if seen[w] {
				continue
			}
			w = strings.Clone(w)
			seen[w] = true
			if slices.ContainsFunc(words, func(word string) bool { return isLong(word) && oneSlip(word, w) }) {
				near = append(near, w)
			}
		}
	}
	return near, nil
}

// oneSlip reports whether one letter more, less, wrong or in its neighbour's place tells a
// from b.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

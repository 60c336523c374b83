package ledger

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// Filter chooses calls. Fields at their zero value choose everything.
type Filter struct {
	// A file, a directory, an end of a path, or a pattern with *.
	Path     string              `json:"path,omitempty"`
	Tool     string              `json:"tool,omitempty"`    // the tool's name, in any case
	Kinds    []toolcall.CallKind `json:"kind,omitempty"`    // any of these
	Outcomes []toolcall.Outcome  `json:"outcome,omitempty"` // any of these
	// In the arguments, the command or the error line, in any case.
	Text    string `json:"text,omitempty"`
	Effects bool   `json:"effects,omitempty"` // only calls that may have changed something
	Files   bool   `json:"files,omitempty"`   // changed files instead of calls; only Path narrows them
	From    int    `json:"from,omitempty"`    // number of the first call
	To      int    `json:"to,omitempty"`      // number of the last call; 0: up to the newest

	// Calls in messages FromMessage ≤ i < ToMessage; a ToMessage of 0 leaves the end open.
	FromMessage int `json:"-"`
	ToMessage   int `json:"-"`
}

// Matches reports whether the filter chooses a call.
func (f Filter) Matches(e *Entry) bool {
	switch {
	case e.Seq < f.From, f.To > 0 && e.Seq > f.To:
	case e.Call.Message < f.FromMessage, f.ToMessage > 0 && e.Call.Message >= f.ToMessage:
	case f.Effects && e.Harmless:
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind):
	case len(f.Outcomes) > 0 && !slices.Contains(f.Outcomes, e.Outcome):
	case f.Tool != "" && !strings.EqualFold(f.Tool, e.Tool):
	case f.Text != "" && !e.mentions(f.Text):
	case f.Path != "" && !e.names(f.Path):
	default:
		return true
	}
	return false
}

// mentions reports whether a text is in the arguments, the command or the error line, in any case.
func (e *Entry) mentions(part string) bool {
	all := strings.ToLower(e.Args + "\x00" + e.ErrorLine + "\x00" + e.Command)
	return strings.Contains(all, strings.ToLower(part))
}

func (e *Entry) names(query string) bool {
	return slices.ContainsFunc(e.Paths, func(p toolcall.PathChange) bool { return pathMatches(query, p.Path) })
}

// pathMatches reports whether a path is what a query asks for.
func pathMatches(query, p string) bool {
	query, p = toolcall.CleanPath(query), toolcall.CleanPath(p)
	if strings.Contains(query, "*") {
		whole, _ := path.Match(query, p)
		base, _ := path.Match(query, path.Base(p))
		return whole || base
	}
	if query == "." || toolcall.EndsPath(p, query) || toolcall.EndsPath(query, p) {
		return true
	}
	return strings.HasPrefix(p, query+"/") || strings.Contains(p, "/"+query+"/")
}

// Select returns the calls that the filter chooses, in order.
func (l *Ledger) Select(f Filter) []Entry {
	var out []Entry
	for i := range l.Entries {
		if f.Matches(&l.Entries[i]) {
			out = append(out, l.Entries[i])
		}
	}
	return out
}

// NameCount is how often something with a name occurs.
type NameCount struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Counts sums up calls. The lists have the most frequent first.
type Counts struct {
	Calls      int         `json:"calls"`
	Superseded int         `json:"superseded"` // of them, those whose results are no longer needed
	Bytes      int         `json:"bytes"`      // of all results
	Tools      []NameCount `json:"tools"`
	Kinds      []NameCount `json:"kinds"`
	Outcomes   []NameCount `json:"outcomes"`
}

// Counts sums up the calls that the filter chooses.
func (l *Ledger) Counts(f Filter) Counts { return countsOf(l.Select(f)) }

func countsOf(entries []Entry) Counts {
	c := Counts{Calls: len(entries)}
	tools, kinds, outcomes := make(map[string]int), make(map[string]int), make(map[string]int)
	for i := range entries {
		e := &entries[i]
		c.Bytes += e.Bytes
		if e.SupersededBy > 0 {
			c.Superseded++
		}
		tools[e.Tool]++
		kinds[e.Kind.String()]++
		outcomes[e.Outcome.String()]++
	}
	c.Tools, c.Kinds, c.Outcomes = byFrequency(tools), byFrequency(kinds), byFrequency(outcomes)
	return c
}

func byFrequency(counts map[string]int) []NameCount {
	list := make([]NameCount, 0, len(counts))
	for name, n := range counts {
		list = append(list, NameCount{name, n})
	}
	slices.SortFunc(list, func(a, b NameCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return list
}

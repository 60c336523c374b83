package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/recall"
)

type tool struct {
	name, about string
	properties  string // of its input, as JSON, beside those of the recall tool of its name
	required    string // as JSON, beside those
	writes      bool
}

const sessionProperty = `"session":{"type":"string","description":"ID of a session, or the beginning of it"}`

var tools = []tool{
	{
		name: "sessions",
		about: "Lists the sessions that coding agents left on this machine, newest first: " +
			"ID, date, size, cost, folder and title.",
		properties: `"project":{"type":"string","description":"only sessions in this folder or below it"},` +
			`"agent":{"type":"string","description":"only sessions of this agent, as claude-code or codex"},` +
			`"limit":{"type":"integer","description":"20 unless given, at most 100"},` +
			`"offset":{"type":"integer"}`,
	},
	{
		name: recall.ToolSearch,
		about: "Finds lines in all that was said and done in a session, or, without one, " +
			"in the newest sessions of a project. Give words that stand near the answer; file:a.go tool:bash " +
			"by:user narrow.",
		properties: `"session":{"type":"string",` +
			`"description":"ID of a session, or the beginning of it; none: the newest sessions"},` +
			`"project":{"type":"string","description":"without a session: only those in this folder or below it"},` +
			`"limit":{"type":"integer","description":"without a session: how many to search; 20 unless given, at ` +
			`most 200"},` +
			`"offset":{"type":"integer","description":"without a session: how many of the newest to leave out"}`,
	},
	{
		name: recall.ToolUnfold,
		about: "Shows something from a session exactly, by its handle in a handoff, search or ledger; " +
			"#12 is what call 12 did, path:FILE a file as the session left it.",
		properties: sessionProperty, required: `"session"`,
	},
	{
		name: recall.ToolLedger,
		about: "Lists the tool calls of a session: what each touched, how it ended, its handle. " +
			"files=true lists the files it changed.",
		properties: sessionProperty, required: `"session"`,
	},
	{
		name: "handoff",
		about: "A compact view of a session as text, to go on from where it ended: " +
			"what the user said, what was done and found out, the newest turns word for word.",
		properties: sessionProperty + `,"budget":{"type":"integer",` +
			`"description":"most tokens of the text; 8000 unless given, at least 2000"}`,
		required: `"session"`,
	},
	{
		name: recall.ToolNote,
		about: "Keeps a note with a session, for its handoff: a key, its short name, and text. " +
			"Empty text removes it; without both all are listed.",
		properties: sessionProperty, required: `"session"`, writes: true,
	},
	{
		name:       recall.ToolPin,
		about:      "Keeps a short text word for word in the handoff of a session: a rule, a goal.",
		properties: sessionProperty, required: `"session"`, writes: true,
	},
}

// schema is the schema of the tool's input: its own properties before those of the recall
// tool of its name.
func (t tool) schema() string {
	i := slices.IndexFunc(recall.Tools(), func(r pleat.Tool) bool { return r.Name == t.name })
	if i < 0 {
		s := `{"type":"object","properties":{` + t.properties + `}`
		if t.required != "" {
			s += `,"required":[` + t.required + `]`
		}
		return s + "}"
	}
	s := strings.Replace(recall.Tools()[i].Schema, `"properties":{`, `"properties":{`+t.properties+",", 1)
	switch {
	case t.required == "":
	case strings.Contains(s, `"required":[`):
		s = strings.Replace(s, `"required":[`, `"required":[`+t.required+",", 1)
	default:
		s = strings.TrimSuffix(s, "}") + `,"required":[` + t.required + `]}`
	}
	if t.name == recall.ToolNote {
		s = strings.TrimSuffix(s, "}") + `,"dependentRequired":{"text":["key"]}}`
	}
	return s
}

// filter chooses what the arguments name: 20 sessions unless they say how many, at most most.
func (a arguments) filter(most int) library.Filter {
	limit := min(cmp.Or(max(a.Limit, 0), 20), most)
	return library.Filter{Agent: a.Agent, Project: a.Project, Offset: max(a.Offset, 0), Limit: limit}
}

func (s server) sessions(ctx context.Context, a arguments) (string, error) {
	f := a.filter(100)
	f.Count = true // as all lists of sessions do
	p, err := s.lib.List(ctx, f)
	if err != nil {
		return "", err
	}
	if len(p.Sessions) == 0 {
		return fmt.Sprintf("no sessions here (%d in all)", p.Total), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "sessions %d to %d of %d, newest first\n", f.Offset+1, f.Offset+len(p.Sessions), p.Total)
	for _, i := range p.Sessions {
		fmt.Fprintf(&b, "\n%s\n", about(i))
	}
	if next := f.Offset + len(p.Sessions); next < p.Total {
		fmt.Fprintf(&b, "\nolder ones: sessions(offset=%d)\n", next)
	}
	return b.String(), nil
}

// about tells of a session in two lines.
func about(i library.Info) string {
	parts := []string{i.ID, i.Used.Local().Format("2006-01-02 15:04")}
	if i.Messages > 0 {
		parts = append(parts, text.Plural(i.Messages, "message"))
	}
	size, cost := text.Short(i.Tokens)+" tokens", "cost –" // not known
	if !i.Counted {
		size = "about " + size
	}
	if i.USD > 0 {
		cost = text.Cents(i.USD)
	}
	parts = append(parts, size, cost)
	if i.Parent != "" {
		parts = append(parts, "sub-agent of "+i.Parent)
	}
	if i.Project != "" {
		parts = append(parts, plain(i.Project))
	}
	title := cmp.Or(plain(i.Title), "(no title)")
	if i.Problem != "" {
		title = "cannot be read: " + plain(i.Problem)
	}
	return strings.Join(parts, ", ") + "\n  " + title
}

// plain leaves out characters that are not for reading: titles are what somebody typed.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// What a search over several sessions shows: bytes of text in all, and tokens of each.
const mostFound, foundTokens = 16_000, 800

func (s server) searchAll(ctx context.Context, a arguments) (string, error) {
	if len(a.Queries) == 0 {
		return "", errors.New("search needs queries: words to look for")
	}
	f := a.filter(200)
	f.Any = true
	r, err := s.lib.Search(ctx, f, recall.SearchRequest{Queries: a.Queries, Hits: 4, Budget: foundTokens})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "found in %d of %d sessions\n", len(r.Found), r.Searched)
	for _, found := range r.Found {
		if b.Len() > mostFound {
			fmt.Fprintf(&b, "\nalso in %s", about(found.Info))
			continue
		}
		fmt.Fprintf(&b, "\n=== %s\n%s\n", about(found.Info),
			strings.TrimRight(library.Apart(found.Result).Text(), "\n"))
	}
	if len(r.Found) > 0 {
		b.WriteString("\nShow more of one with unfold or search and its ID as the argument session.\n")
	}
	if r.Left > 0 {
		fmt.Fprintf(&b, "%d older sessions were not searched: search(offset=%d)\n", r.Left, f.Offset+f.Limit)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(&b, plain(p.Error()))
	}
	return b.String(), nil
}

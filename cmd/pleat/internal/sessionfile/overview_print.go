package sessionfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

type overviewJSON struct {
	Format      string           `json:"format"`
	Source      Source           `json:"source"`
	Begin       *time.Time       `json:"begin,omitempty"`
	End         *time.Time       `json:"end,omitempty"`
	Messages    messageCounts    `json:"messages"`
	Rounds      int              `json:"rounds"`
	Calls       callCounts       `json:"calls"`
	Tokens      tokenCounts      `json:"tokens"`
	Tools       []toolShare      `json:"tools"`
	Largest     []blockShare     `json:"largest"`
	Compactions []compactionJSON `json:"compactions"`
	Window      windowJSON       `json:"window"`
	USD         float64          `json:"usd,omitempty"`          // by usage and prices, where they are known
	Recorded    float64          `json:"usd_recorded,omitempty"` // the same with the output that the log counts

	View      *seenJSON `json:"view,omitempty"` // of a stored session
	toolCount int       // of all tools
	unpriced  int       // requests of models that have no price
}

// seenJSON is what a model sees of a stored session, in the provider's tokens.
type seenJSON struct {
	Tokens int `json:"tokens"`
	Whole  int `json:"whole"`
	Epochs int `json:"epochs"`
	Folds  int `json:"folds"` // in force

	copied bool    // by "pleat compact"
	scale  float64 // what a token by pleat's count is of the provider's
	added  int     // tokens by the provider, to every prompt
}

// String says how the session is folded; "": it is not.
func (v *seenJSON) String() string {
	times, of := "once", term.Short(v.Tokens)+" of "+term.Short(v.Whole)+" tokens"
	if v.Epochs > 1 {
		times = fmt.Sprintf("%d times", v.Epochs)
	}
	switch {
	case v.Folds == 0:
		return ""
	case v.Epochs == 0:
		return term.Plural(v.Folds, "result") + " stored at once: the model sees " + of
	case v.copied:
		return "folded by \"pleat compact\": " + of + " are left; the session itself is as it was"
	}
	return "folded " + times + ": the model sees " + of
}

type messageCounts struct {
	All       int `json:"all"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Tool      int `json:"tool"` // of role tool, or of role user with results
	System    int `json:"system"`
	Typed     int `json:"typed"` // with text that a person typed
	Sidechain int `json:"sidechain"`
	Abandoned int `json:"abandoned"`
}

type callCounts struct {
	All        int `json:"all"`
	Failed     int `json:"failed"`
	Unanswered int `json:"unanswered"`
}

type tokenCounts struct {
	All    int     `json:"all"`
	Model  string  `json:"model"` // whose tokens
	ByKind []Share `json:"by_kind"`
	Beside []Share `json:"beside,omitempty"` // what requests have beside the messages; not in All
}

// Share is what blocks of one kind take.
type Share struct {
	Name   string `json:"name"`
	Blocks int    `json:"blocks"`
	Tokens int    `json:"tokens"`
}

type toolShare struct {
	Name    string `json:"name"`
	Calls   int    `json:"calls"`
	Failed  int    `json:"failed"`
	Tokens  int    `json:"tokens"` // calls and results
	Results int    `json:"result_tokens"`
}

type blockShare struct {
	Message int    `json:"message"` // number in the session, from 1
	Line    int    `json:"line"`    // of the file
	Kind    string `json:"kind"`
	What    string `json:"what"`
	Tokens  int    `json:"tokens"`
}

type compactionJSON struct {
	Before  int    `json:"before_message"` // number of the message that follows
	Line    int    `json:"line"`
	Trigger string `json:"trigger,omitempty"`
	Tokens  int    `json:"tokens_before,omitempty"` // as the log says
	Partial bool   `json:"partial,omitempty"`
	Opaque  bool   `json:"opaque,omitempty"`
	Summary int    `json:"summary_tokens,omitempty"`
}

// windowJSON is the size of the prompt over the session's requests.
type windowJSON struct {
	Reported bool  `json:"reported"` // by the provider; otherwise estimated
	Size     int   `json:"size"`     // the window that was used, 0: not known
	Largest  int   `json:"largest"`
	Prompts  []int `json:"prompts"`

	why string // for people: why Size is less than the model's window
}

func (o *overviewJSON) Print(p *term.Page) {
	o.printHead(p)
	o.printKinds(p)
	o.printTools(p)
	o.printLargest(p)
	o.printCompactions(p)
	o.printWindow(p)
}

func (o *overviewJSON) printHead(p *term.Page) {
	src := o.Source
	p.Title(src.File)
	about := []string{src.Format}
	if src.Version != "" {
		about[0] += " " + src.Version
	}
	if src.Model != "" {
		about = append(about, src.Model)
	}
	if o.Begin != nil {
		about = append(about, o.Begin.UTC().Format("2006-01-02 15:04")+span(o.End.Sub(*o.Begin)))
	}
	if src.Parent != "" {
		about = append(about, "sub-agent of "+src.Parent)
	}
	p.Hang("", strings.Join(about, " · "))
	if src.Title != "" {
		p.Line("%s", p.Clip("“"+term.OneLine(src.Title)+"”", p.Width))
	}
	p.Line("")
	m := o.Messages
	p.Line("%s: %s typed by a person, %s of the model",
		term.Plural(m.All, "message"), term.Thousands(m.Typed), term.Thousands(m.Assistant))
	calls := term.Plural(o.Calls.All, "tool call")
	if notes := counts(o.Calls.Failed, "failed", o.Calls.Unanswered, "unanswered"); notes != "" {
		calls += " (" + notes + ")"
	}
	p.Line("%s in %s", calls, term.Plural(o.Rounds, "round"))
	if apart := counts(m.Sidechain, "of sub-agents", m.Abandoned, "on abandoned branches"); apart != "" {
		p.Line("apart from these: %s", apart)
	}
	if src.Damaged > 0 {
		p.Line("%s could not be read", term.Plural(src.Damaged, "line"))
	}
	cost := ""
	if o.USD > 0 {
		cost = fmt.Sprintf(", %s by the price list", term.Cents(o.Recorded))
		if o.USD > o.Recorded {
			cost += fmt.Sprintf(" and %s with the output that the file does not count", term.Cents(o.USD))
		}
	} else if o.unpriced > 0 {
		cost = ", – by the price list"
	}
	all := term.Thousands(o.Tokens.All) + " tokens"
	if v := o.View; v != nil {
		if v.scale != 1 {
			all += " as the provider counts them"
		}
		switch {
		case v.added > 0:
			all += " (" + term.Short(v.Whole) + " with what stands beside the messages)"
		case v.Whole > o.Tokens.All:
			all += " (" + term.Short(v.Whole) + " with system prompt and tools)"
		}
	}
	p.Hang("", all+cost)
	if o.View != nil {
		if folded := o.View.String(); folded != "" {
			p.Hang("", folded)
		}
	}
}

// counts writes two numbers with what they count: "3 failed, 1 unanswered". Zeros are left
// out.
func counts(a int, of string, b int, ofB string) string {
	var list []string
	if a > 0 {
		list = append(list, term.Thousands(a)+" "+of)
	}
	if b > 0 {
		list = append(list, term.Thousands(b)+" "+ofB)
	}
	return strings.Join(list, ", ")
}

// span writes a duration for people, with a comma before it.
func span(d time.Duration) string {
	switch d = d.Round(time.Minute); {
	case d < time.Minute:
		return ""
	case d < time.Hour:
		return fmt.Sprintf(", %d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf(", %d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf(", %d days", int(d.Hours()/24))
}

func (o *overviewJSON) printKinds(p *term.Page) {
	p.Head("Tokens by kind", "")
	const name, number = 16, 10
	room := p.Width - 2 - name - 1 - number - 6
	for _, k := range o.Tokens.ByKind {
		p.Line("  %s %s%s %s", term.Pad(p.Clip(k.Name, name), name),
			term.Bar(k.Tokens, o.Tokens.ByKind[0].Tokens, room),
			term.PadLeft(term.Thousands(k.Tokens), number), term.PadLeft(term.Percent(k.Tokens, o.Tokens.All), 4))
	}
	var beside []string
	for _, s := range o.Tokens.Beside {
		beside = append(beside, term.Thousands(s.Tokens)+" "+s.Name)
	}
	if len(beside) > 0 {
		p.Hang("  ", "beside the messages: "+strings.Join(beside, ", "))
	}
}

func (o *overviewJSON) printTools(p *term.Page) {
	if len(o.Tools) == 0 {
		return
	}
	note := ""
	if n := o.toolCount - len(o.Tools); n > 0 {
		note = fmt.Sprintf("%d more with --top", n)
	}
	p.Head("Tokens by tool", note)
	name := min(max(term.Widest(o.Tools, func(t toolShare) string { return t.Name }), 4), 28)
	room := max(p.Width-2-name-1-7-8-11-6, 0)
	p.Line("%s", p.Dim(fmt.Sprintf("  %s %7s%8s%s%11s", term.Pad("", name), "calls", "failed",
		strings.Repeat(" ", room+1), "tokens")))
	for _, t := range o.Tools {
		failed := ""
		if t.Failed > 0 {
			failed = term.Thousands(t.Failed)
		}
		p.Line("  %s %7s%8s %s%11s %4s", term.Pad(p.Clip(t.Name, name), name), term.Thousands(t.Calls), failed,
			term.Bar(t.Tokens, o.Tools[0].Tokens, room), term.Thousands(t.Tokens), term.Percent(t.Tokens, o.Tokens.All))
	}
}

func (o *overviewJSON) printLargest(p *term.Page) {
	if len(o.Largest) == 0 {
		return
	}
	p.Head("Largest blocks", "")
	at := func(b blockShare) string { return fmt.Sprintf("%9s", term.Thousands(b.Line)) }
	head := "     line"
	if o.Largest[0].Line == 0 { // it is in no file
		at, head = func(blockShare) string { return "" }, ""
	}
	p.Line("%s", p.Dim("   tokens  message"+head+"  what"))
	for _, b := range o.Largest {
		what := b.Kind
		if b.What != "" {
			what = strings.NewReplacer("tool ", "", "summaries", "summary", "calls", "call", "results", "result",
				"images", "image", "messages", "message").Replace(b.Kind) + ": " + b.What
		}
		p.Line("%9s%9s%s  %s", term.Thousands(b.Tokens), term.Thousands(b.Message), at(b),
			p.Clip(what, p.Width-20-len(head)))
	}
}

func (o *overviewJSON) printCompactions(p *term.Page) {
	if len(o.Compactions) == 0 {
		return
	}
	p.Head("Compactions by the agent", "")
	for _, c := range o.Compactions {
		about := c.Trigger
		if c.Tokens > 0 {
			about += " at " + term.Plural(c.Tokens, "token")
		}
		switch {
		case c.Partial:
			about += " tool results cleared"
		case c.Opaque:
			about += " to a summary that only its provider can read"
		case c.Summary > 0:
			about += " to a summary of " + term.Thousands(c.Summary)
		}
		where := fmt.Sprintf("before message %s, line %s", term.Thousands(c.Before), term.Thousands(c.Line))
		if about = strings.TrimSpace(about); about != "" {
			where += ": " + about
		}
		p.Line("  %s", p.Clip(where, p.Width-2))
	}
}

// printWindow draws how full the window was at every request.
func (o *overviewJSON) printWindow(p *term.Page) {
	w := o.Window
	unseen := !w.Reported && o.View != nil && o.View.Folds > 0 // nothing says how full it was with folds
	if len(w.Prompts) == 0 || w.Largest == 0 || unseen {
		return
	}
	how := "as the provider reported it"
	if !w.Reported {
		how = "estimated, without what agents add unseen"
	}
	p.Head("Window over time", how)
	const rows, label = 6, 7
	tops := buckets(w.Prompts, p.Width-label-3)
	marks := map[int]string{rows - 1: term.Short(w.Largest), rows / 2: term.Short(w.Largest / 2), 0: "0"}
	for row := rows - 1; row >= 0; row-- {
		var b strings.Builder
		for _, top := range tops {
			eighths := min(max((top*rows*8+w.Largest/2)/w.Largest-row*8, 0), 8)
			b.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[eighths])
		}
		p.Line("%s ┤%s", term.PadLeft(marks[row], label), strings.TrimRight(b.String(), " "))
	}
	foot := fmt.Sprintf("%s, largest prompt %s tokens", term.Plural(len(w.Prompts), "request"),
		term.Thousands(w.Largest))
	if w.Size > 0 {
		foot += fmt.Sprintf(", %s of the window of %s%s", term.Percent(w.Largest, w.Size), term.Short(w.Size), w.why)
	}
	if w.Reported && !slices.ContainsFunc(o.Tokens.Beside, func(s Share) bool { return s.Name == toolsBeside }) {
		foot += "; with the system prompt and the tools, which are not in the tokens above"
	}
	p.Line("%s └%s", strings.Repeat(" ", label), strings.Repeat("─", len(tops)))
	p.Hang(term.Styled(strings.Repeat(" ", label+2)), foot)
}

// buckets spreads values over at most n columns; each column shows its largest value. If
// there are few values, each gets up to four columns.
func buckets(values []int, n int) []int {
	if len(values) < n {
		n = len(values) * min(n/len(values), 4)
		tops := make([]int, n)
		for i := range tops {
			tops[i] = values[i*len(values)/n]
		}
		return tops
	}
	tops := make([]int, n)
	for i, v := range values {
		at := i * n / len(values)
		tops[at] = max(tops[at], v)
	}
	return tops
}

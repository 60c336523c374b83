package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// chat is a conversation at the prompt. Ctrl-C only stops the model or a command; the end of
// input, of the context, or /quit ends the chat.
func (r *running) chat(ctx context.Context) error {
	if r.task != "" {
		r.p.Printf("%s\n", r.task)
	}
	r.p.Printf("%s\n",
		r.screen.s.Dim("Type what you want done. /help lists the commands; end a line with \\ to go on."))
	for {
		r.screen.settle()
		text, err := r.lines.read(ctx, "› ")
		if errors.Is(err, errInterrupted) {
			r.p.Printf("%s\n", r.screen.s.Dim("/quit or Ctrl-D ends the chat"))
			continue
		}
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			r.p.Printf("%s\n",
				r.screen.s.Dim("the session is "+r.o.Key.Session+": pleat run --resume "+r.o.Key.Session))
			return nil
		}
		if err != nil {
			return err
		}
		if r.turn(ctx, strings.TrimSpace(text)) {
			return nil
		}
	}
}

// turn does what was typed until it is done or somebody presses Ctrl-C.
func (r *running) turn(ctx context.Context, text string) (over bool) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	r.stop.Store(&stop)
	switch {
	case text == "":
	case strings.HasPrefix(text, "/"):
		over, err := r.command(ctx, text)
		if err != nil {
			r.p.Printf("%s\n", r.screen.s.Style("31", err.Error()))
		}
		return over
	default:
		r.say(ctx, func(ctx context.Context) (agent.Result, error) { return r.agent.Run(ctx, text) })
	}
	return false
}

// say runs the model and says how it stopped.
func (r *running) say(ctx context.Context, run func(context.Context) (agent.Result, error)) {
	res, err := run(ctx)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		r.p.Printf("%s\n", r.screen.s.Style("31", err.Error()))
	case res.Stop != agent.StopDone:
		r.p.Printf("%s\n", r.screen.s.Dim(stopped(res.Stop)+"; /resume goes on"))
	}
}

type chatCommand struct {
	name, args, what string
	run              func(r *running, ctx context.Context, arg string) error
}

// chatCommands is a function because /help lists them.
func chatCommands() []chatCommand {
	return []chatCommand{
		{"/compact", "[FOCUS]", "fold now; the focus says what matters most", (*running).compact},
		{"/context", "", "what the window is filled with", (*running).context},
		{"/ledger", "[PATH]", "what was done", (*running).ledger},
		{"/unfold", "HANDLE", "show what was folded, exactly", (*running).unfold},
		{"/search", "WORDS", "find something said or done earlier", (*running).search},
		{"/pin", "[TEXT]", "keep a text in view; without one, list the pins", (*running).pin},
		{"/undo", "", "take back the newest compaction", (*running).undo},
		{"/cost", "", "what was spent", (*running).cost},
		{"/sessions", "", "the sessions of the store", (*running).sessions},
		{"/resume", "", "go on after a stop", (*running).again},
		{"/help", "", "show this", (*running).chatHelp},
		{"/quit", "", "end the chat; the session stays", nil},
	}
}

func (r *running) command(ctx context.Context, text string) (over bool, err error) {
	name, arg, _ := strings.Cut(text, " ")
	list := chatCommands()
	i := slices.IndexFunc(list, func(c chatCommand) bool { return c.name == name })
	switch {
	case i < 0:
		return false, fmt.Errorf("there is no command %s; /help lists them", name)
	case list[i].run == nil:
		return true, nil
	}
	return false, list[i].run(r, ctx, strings.TrimSpace(arg))
}

// printf prints below the text, where the meter was.
func (r *running) printf(format string, args ...any) {
	r.screen.settle()
	r.p.Printf(format, args...)
}

func (r *running) compact(ctx context.Context, focus string) error {
	plan, err := r.agent.Session().Compact(ctx, focus)
	if err != nil {
		return err
	}
	if plan.IsEmpty() {
		r.printf("nothing can be folded now\n")
	}
	return nil // the observer has shown the rest
}

func (r *running) context(_ context.Context, _ string) error {
	s := r.agent.Session().Snapshot()
	r.screen.mu.Lock()
	r.screen.snap = s
	meter := r.screen.meterText(30)
	r.screen.mu.Unlock()
	r.printf("%s\n", meter)
	for _, part := range sessionfile.PartNames(s.Parts) {
		if n := part.Tokens; n > 0 {
			r.printf("  %-20s %9s  %s\n", part.Name, term.Thousands(n), term.Bar(n, s.Parts.Total(), 30))
		}
	}
	then := "policy " + r.o.Session.Policy.Name + " folds"
	if slices.Contains(r.o.Session.Policy.AtRed.Names(), "aim") {
		then = "it is folded to " + term.Thousands(s.Limits.Target)
	}
	r.printf("  yellow from %s tokens on; red from %s on: then %s; never more than %s\n",
		term.Thousands(s.Limits.Yellow), term.Thousands(s.Limits.Red), then, term.Thousands(s.Limits.Max))
	return nil
}

// show prints a text that may end with line feeds.
func (r *running) show(text string) error {
	r.printf("%s\n", strings.TrimRight(text, "\n"))
	return nil
}

func (r *running) ledger(_ context.Context, path string) error {
	return r.show(r.agent.Session().LedgerText(ledger.Filter{Path: path}, 4000))
}

func (r *running) unfold(ctx context.Context, handle string) error {
	if handle == "" {
		return errors.New("/unfold needs a handle; stubs and /search name them")
	}
	u, err := r.agent.Session().Unfold(ctx, recall.UnfoldRequest{Handle: handle})
	if err != nil {
		return err
	}
	return r.show(u.Text())
}

func (r *running) search(ctx context.Context, words string) error {
	if words == "" {
		return errors.New("/search needs words")
	}
	found, err := r.agent.Session().Search(ctx, recall.SearchRequest{Queries: []string{words}})
	if err != nil {
		return err
	}
	return r.show(found.Text())
}

func (r *running) pin(ctx context.Context, text string) error {
	s := r.agent.Session()
	if text != "" {
		if err := s.Pin(ctx, text); err != nil {
			return err
		}
		r.printf("pinned: every view shows it from now on\n")
		return nil
	}
	for _, p := range s.Pins() {
		r.printf("  %s\n", p)
	}
	if len(s.Pins()) == 0 {
		r.printf("nothing is pinned\n")
	}
	return nil
}

func (r *running) undo(ctx context.Context, _ string) error {
	err := r.agent.Session().Undo(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return errors.New("there is no compaction to take back")
	}
	if err != nil {
		return err
	}
	return r.context(ctx, "")
}

func (r *running) cost(_ context.Context, _ string) error {
	r.screen.mu.Lock()
	tokens, usd := r.screen.tokens, r.screen.usd
	r.screen.mu.Unlock()
	r.printf("%s tokens in this chat", term.Thousands(tokens))
	if usd > 0 {
		r.printf(", %s", term.Cents(usd))
	}
	if usd := r.agent.Session().Spent(); usd > 0 {
		r.printf("; the whole session %s", term.Cents(usd))
	}
	r.printf("\n")
	return nil
}

func (r *running) sessions(ctx context.Context, _ string) error {
	list, err := stores.OfTenant(ctx, r.store, r.f.store.Tenant)
	if err == nil {
		err = stores.Used(ctx, r.store, list)
	}
	if err != nil {
		return err
	}
	return r.p.Output(false, stores.List{Sessions: stores.Describe(ctx, r.store, list)})
}

func (r *running) again(ctx context.Context, _ string) error {
	r.say(ctx, r.agent.Resume)
	return nil
}

func (r *running) chatHelp(context.Context, string) error {
	for _, c := range chatCommands() {
		r.printf("  %-18s %s\n", strings.TrimSpace(c.name+" "+c.args), c.what)
	}
	r.printf(
		"Ctrl-C stops the model; Ctrl-D ends the chat. Up and down bring back what was typed. Alt-Enter, or \\ at " +
			"the end, goes on in the next line; \"\"\" begins and ends a text of several lines.\n")
	return nil
}

func (r *running) interrupt() {
	if stop := r.stop.Load(); stop != nil {
		(*stop)()
	}
}

// askPerson asks whether a call may run. Of an edit it shows what would change.
func (r *running) askPerson(ctx context.Context, c agent.Call) agent.Decision {
	r.screen.settle()
	doing := cmp.Or(map[agent.Effect]string{
		agent.EffectWrite: "write", agent.EffectNetwork: "use the network",
	}[c.Effect],
		"run")
	r.p.Printf("%s wants to %s:\n%s\n", r.screen.s.Bold(c.Name), doing, term.IndentBy("  ", cmp.Or(c.Subject, c.Input)))
	for _, l := range r.changes(c) {
		r.p.Printf("%s\n", l)
	}
	answer, err := r.lines.line(ctx, "allow? [y]es, [a]lways this, [n]o (and why): ", true)
	if ctx.Err() != nil {
		return agent.Decision{Reason: "the run was stopped before the user answered"}
	}
	if err != nil { // Ctrl-C, or the terminal is gone
		r.interrupt()
		return agent.Decision{Reason: "the user stopped the run instead of answering"}
	}
	// Only the whole answer counts: "a test fails" does not mean "always".
	answer = strings.TrimSpace(answer)
	word, reason, _ := strings.Cut(answer, " ")
	switch strings.ToLower(answer) {
	case "y", "yes":
		return agent.Decision{Allow: true}
	case "a", "always":
		r.always[exactly(c)] = true
		return agent.Decision{Allow: true}
	}
	switch strings.ToLower(word) {
	case "n", "no", "":
		return agent.Decision{Reason: cmp.Or(reason, "the user said no")}
	}
	return agent.Decision{Reason: "the user said: " + answer}
}

// changes shows what a call would change in a file: the lines removed, and those added.
func (r *running) changes(c agent.Call) []term.Styled {
	if r.work == nil {
		return nil
	}
	change, ok := r.work.Change(c)
	if !ok {
		return nil
	}
	out := lineDiff(r.screen.s, change.Before, change.After)
	if change.All {
		out = append(out, "  "+r.screen.s.Dim("in every place"))
	}
	return out
}

// diffLines is how many lines of each side a diff shows.
const diffLines = 30

// lineDiff shows two texts without their common first and last lines.
func lineDiff(s term.Screen, before, after string) (out []term.Styled) {
	a, b := lineList(before), lineList(after)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for _, side := range []struct {
		mark, colour string
		lines        []string
	}{{"- ", "31", a}, {"+ ", "32", b}} {
		for _, l := range side.lines[:min(len(side.lines), diffLines)] {
			out = append(out, "  "+s.Style(side.colour, side.mark+l))
		}
		if n := len(side.lines) - diffLines; n > 0 {
			out = append(out, "  "+s.Dim(fmt.Sprintf("%s… %s more", side.mark, term.Plural(n, "line"))))
		}
	}
	return out
}

func lineList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

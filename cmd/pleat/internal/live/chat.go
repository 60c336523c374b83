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
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// chat is a conversation at the prompt. The end of input, or of the context, ends it.
func (r *running) chat(ctx context.Context) error {
	r.p.Printf("%s\n", r.screen.s.Dim("Type what you want done. Ctrl-C stops an answer, and ends the chat at the prompt. "+
		"/compact FOCUS folds now. A text of several lines goes between two lines of \"\"\"."))
	for {
		if over, err := r.exchange(ctx); over || err != nil {
			return err
		}
	}
}

// exchange reads what is typed and does it. Ctrl-C at the prompt ends the chat, later only what is being done.
func (r *running) exchange(ctx context.Context) (over bool, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	r.screen.settle()
	text, err := r.lines.read(ctx, "› ")
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		r.p.Printf("\n%s\n", r.screen.s.Dim("the session is "+r.o.Key.Session+": "+r.resuming()))
		return true, nil
	}
	if err != nil {
		return true, err
	}
	if err := r.turn(ctx, strings.TrimSpace(text)); err != nil && !errors.Is(err, context.Canceled) {
		r.p.Printf("%s\n", r.screen.s.Style("31", err.Error()))
	}
	return false, nil
}

// turn does what was typed, and says what kept the model from being done.
func (r *running) turn(ctx context.Context, text string) error {
	command, focus, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return nil
	case command == "/compact":
		plan, err := r.agent.Session().Compact(ctx, strings.TrimSpace(focus))
		if err == nil && plan.IsEmpty() {
			r.p.Printf("nothing can be folded now\n")
		}
		return err // the observer has shown the rest
	case strings.HasPrefix(text, "/"):
		return fmt.Errorf("there is no command %s, only /compact FOCUS", command)
	}
	res, err := r.agent.Run(ctx, text)
	if res.Stop != agent.StopDone && (err == nil || errors.Is(err, context.Canceled)) {
		r.p.Printf("%s\n", r.screen.s.Dim(stopped(res.Stop)+"; say how to go on"))
	}
	return err
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
	answer, err := r.lines.answer(ctx, "allow? [y]es, [a]lways this, [n]o (and why): ")
	if err != nil { // Ctrl-C, or the end of input
		return agent.Decision{Reason: "the run was stopped before the user answered"}
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
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
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
			out = append(out, "  "+s.Style(side.colour, side.mark+strings.TrimSuffix(l, "\n")))
		}
		if n := len(side.lines) - diffLines; n > 0 {
			out = append(out, "  "+s.Dim(fmt.Sprintf("%s… %s more", side.mark, term.Plural(n, "line"))))
		}
	}
	return out
}

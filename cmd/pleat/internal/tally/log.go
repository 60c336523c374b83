package tally

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/proxy"
)

// Logger logs for people, or as JSON; quiet: only warnings and errors.
func Logger(w io.Writer, asJSON, quiet bool) *slog.Logger {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(term.JSONWriter{To: w}, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(&lineLog{w: w, level: level})
}

// lineLog writes records as lines for people: the time of day, and what happened.
type lineLog struct {
	w     io.Writer
	level slog.Level
	mu    sync.Mutex
}

func (l *lineLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *lineLog) Handle(_ context.Context, r slog.Record) error {
	line := r.Time.Format(time.TimeOnly) + "  "
	if r.Level >= slog.LevelWarn {
		line += "warning: "
	}
	line += term.Visible(strings.ReplaceAll(r.Message, "\n", " "))
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(", %s: %s", a.Key, term.OneLine(a.Value.String()))
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.w, term.WithoutPassword(line)+"\n")
	return err
}

// WithAttrs and WithGroup complete [slog.Handler]; nobody here uses them.
func (l *lineLog) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *lineLog) WithGroup(string) slog.Handler { return l }

// Log logs what happened to a request, and nothing of what was said: as attributes, or as a line for people.
func (t *Tally) Log(log *slog.Logger, asJSON bool, r proxy.Exchange) {
	unanswered := r.Status == 0 && !errors.Is(r.Err, context.Canceled)
	if r.Err != nil && unanswered {
		return // logged by the handler
	}
	level, text, attrs := slog.LevelInfo, "request", []any(nil)
	if asJSON {
		attrs = exchangeAttrs(r)
	} else {
		text = exchangeLine(r)
	}
	if r.Err != nil {
		said, _, _ := strings.Cut(r.Err.Error(), "\n") // the handler logged all of it
		level, attrs = slog.LevelWarn, append(attrs, "err", said)
	}
	log.Log(context.Background(), level, text, attrs...)
}

// exchangeLine is a request for people, the parts that are always there first.
func exchangeLine(r proxy.Exchange) string {
	s, id := r.Snapshot, r.Session.Session
	parts := []string{fmt.Sprint(r.Status), r.Model, id, term.Plural(r.Messages, "message")}
	switch {
	case id != "":
		parts = append(parts, fmt.Sprintf("%s of %s tokens", term.Short(s.Tokens), term.Short(s.Limits.Window)))
	case r.Passed:
		parts = []string{parts[0], "passed on, not understood"}
	default:
		parts[2] = "no session"
	}
	parts = append(parts, took(r.Took))
	if r.Folded {
		parts = append(parts, "folded from "+term.Short(s.Whole)+reason(r))
	}
	if r.Hidden > 0 {
		parts = append(parts, term.Plural(r.Hidden, "recall"))
	}
	if r.Retried {
		parts = append(parts, "refused as too long, folded harder")
	}
	return strings.Join(parts, "  ")
}

// reason says why a request is folded as the one before it was not, if it is not.
func reason(r proxy.Exchange) string {
	why := library.Triggers[r.Snapshot.Trigger]
	switch {
	case r.Epochs > 0 && why != "":
		return " (" + why + ")"
	case r.Stored > 0:
		return " (" + term.Verb(r.Stored, "result", "is", "are") + " too large to show)"
	case r.Forked:
		return " (as where it forked)"
	}
	return ""
}

// took writes a duration with as many digits as people read.
func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func exchangeAttrs(r proxy.Exchange) []any {
	attrs := []any{
		"session", r.Session.Session, "wire", string(r.Format), "model", r.Model, "status", r.Status,
		"messages", r.Messages, "tokens", r.Snapshot.Tokens, "state", r.Snapshot.State.String(),
		"added", r.Added.Round(10 * time.Microsecond), "took", r.Took.Round(time.Millisecond),
	}
	if r.Folded {
		attrs = append(attrs, "whole", r.Snapshot.Whole, "epochs", r.Epochs, "stored", r.Stored)
	}
	if r.Hidden > 0 {
		attrs = append(attrs, "hidden", r.Hidden)
	}
	if r.NoRecall != "" {
		attrs = append(attrs, "no_recall", r.NoRecall)
	}
	if r.Retried {
		attrs = append(attrs, "retried", true)
	}
	return attrs
}

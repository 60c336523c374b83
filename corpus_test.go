package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// TestCorpusEngine drives every real session through chained compactions at several
// budgets and holds the last view to the promises.
func TestCorpusEngine(t *testing.T) {
	var stats struct{ views, paths, named, said, verbatim int }
	chains := []int{1, 3, 10}
	if testing.Short() {
		chains = []int{1, 10}
	}
	for _, path := range corpustest.Files(t) {
		msgs := corpustest.Read(t, path)
		source := allText(msgs)
		for _, window := range []int{200_000, 60_000, 20_000, 8_000} {
			for _, chain := range chains {
				name := fmt.Sprintf("%s/%d/%d", filepath.Base(path), window, chain)
				c := corpusCase{t: t, name: name, msgs: msgs, source: source, window: window}
				c.run(chain)
				stats.views++
				stats.paths += c.paths
				stats.named += c.named
				stats.said += c.said
				stats.verbatim += c.verbatim
			}
		}
	}
	t.Logf("%d last views; %d of %d changed files named; %d of %d typed messages verbatim",
		stats.views, stats.named, stats.paths, stats.verbatim, stats.said)
}

type corpusCase struct {
	t      *testing.T
	name   string
	msgs   []transcript.Message
	source string
	window int

	paths, named, said, verbatim int
}

func (c *corpusCase) run(chain int) {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: c.name}, &pleat.Options{
		Budget: fold.Budget{Window: c.window}, Tokens: counter, Check: anthropic.Checker(model.Model{}),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	done := 0
	for i, m := range c.msgs {
		if err := s.Append(ctx, m); err != nil {
			c.t.Fatalf("%s: %v", c.name, err)
		}
		if (i+1)*chain/len(c.msgs) > done { // spread the forced compactions evenly
			done++
			if _, err := s.Compact(ctx, ""); err != nil {
				c.t.Fatalf("%s: compact after message %d: %v", c.name, i, err)
			}
		}
	}
	v, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		if !errors.Is(err, fold.ErrCannotFit) || !c.hopeless() {
			c.t.Errorf("%s: %v", c.name, err)
		}
		return
	}
	if snap := s.Snapshot(); snap.Tokens > snap.Limits.Max {
		c.t.Errorf("%s: %d tokens of %d", c.name, snap.Tokens, snap.Limits.Max)
	}
	if bad := v.Check(transcript.NewTranscript(c.msgs...)); len(bad) > 0 {
		c.t.Errorf("%s: %v", c.name, bad)
	}
	msgs, err := s.Resolve(c.t.Context(), v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.judge(s, msgs)
	c.exact(s)
}

// hopeless reports whether the system prompt that stands among the messages leaves too
// little room for the newest words and a page.
func (c *corpusCase) hopeless() bool {
	need := 1_500
	for _, m := range c.msgs {
		if r := m.Role(); r != transcript.RoleSystem && r != transcript.RoleDeveloper {
			break
		}
		need += counter.CountMessage(m)
	}
	return need > (fold.Budget{Window: c.window}).Limits().Max
}

// judge holds a view to what must survive: changed files, what people typed where it is at
// most a third of the view without the system prompt, no invention.
func (c *corpusCase) judge(s *pleat.Session, msgs []transcript.Message) {
	text := allText(msgs)
	expanded, joined := spellOut(text), oneSpace(text) // what a person typed may be several blocks
	for _, p := range ledger.Of(transcript.NewTranscript(c.msgs...)).Changed() {
		c.paths++
		if strings.Contains(expanded, p.Path) ||
			strings.Contains(text, strings.ReplaceAll(p.Path, `\`, `\\`)) { // as its call has it
			c.named++
		} else if c.window >= 20_000 || !strings.Contains(text, "ledger(files=true) names them all") {
			c.t.Errorf("%s: changed file %s is neither named nor counted", c.name, p.Path)
		}
	}
	said, _ := inside.Of(s).UserWords()
	typed := 0
	for _, w := range said {
		typed += counter.CountText(w.Text)
	}
	for _, w := range said {
		if w.Brief("") != w.Text {
			continue // with a paste
		}
		c.said++
		if strings.Contains(joined, oneSpace(strings.TrimLeft(w.Text, "!#"))) { // else <bash-input>
			c.verbatim++
		} else if snap := s.Snapshot(); typed <= (int(snap.Tokens)-snap.Parts.System)/3 {
			c.t.Errorf("%s: message %d is not verbatim: %s", c.name, w.Message, w.Text)
		}
	}
	for _, m := range msgs {
		if m.Origin() != transcript.OriginInjected {
			continue
		}
		for _, p := range pathLike.FindAllString(spellOut(m.Text()), -1) {
			if !strings.Contains(c.source, p) {
				c.t.Errorf("%s: invented path %q", c.name, p)
			}
		}
	}
}

func (c *corpusCase) exact(s *pleat.Session) {
	for _, f := range s.Report().Folds {
		u, err := s.Unfold(context.Background(), recall.UnfoldRequest{Handle: f.Handle})
		if err != nil {
			c.t.Errorf("%s: unfold %s: %v", c.name, f.Handle, err)
		} else if transcript.HashOf(u.Whole) != f.Hash {
			c.t.Errorf("%s: unfold %s gave other bytes", c.name, f.Handle)
		}
	}
}

var (
	nameList = regexp.MustCompile(
		`(?m)^(?:Created|Edited|Deleted|Created and deleted again|Touched by unknown tools|Only looked at): (.*)$|\(changes ([^()]*)\)`,
	)
	pathLike = regexp.MustCompile(`(?:/?[\w@.+-]+/)+[\w@+-]+\.[a-z]{1,4}\b`)
)

// spellOut writes the ledger's lists of names out, one name a line: a/{b,c} is a/b and a/c.
func spellOut(text string) string {
	return nameList.ReplaceAllStringFunc(text, func(line string) string {
		if m := nameList.FindStringSubmatch(line); balanced(m[1] + m[2]) {
			return strings.Join(splitBraces(m[1]+m[2]), "\n")
		}
		return line
	})
}

func balanced(s string) bool {
	depth := 0
	for i, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
			if next := s[i+1:]; next != "" && next[0] != ',' && next[0] != '}' {
				return false
			}
		}
	}
	return depth == 0
}

// splitBraces takes braces apart: what joinPaths wrote names these paths and no others.
func splitBraces(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == ',' && depth == 0 {
			out = append(out, splitBrace(strings.TrimPrefix(s[start:i], " "))...)
			start = i + 1
			continue
		}
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return out
}

func splitBrace(s string) []string {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}
	}
	var out []string
	for _, inner := range splitBraces(s[open+1 : len(s)-1]) {
		out = append(out, s[:open]+inner)
	}
	return out
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

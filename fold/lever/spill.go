package lever

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// Spill folds results that are too large to be worth showing whole, before a model sees
// them. A preview stays, and so does what a client put behind the output for the model.
type Spill struct {
	Chars int            `json:"chars,omitempty"` // a result of more characters is folded; 0: no such limit
	Tools map[string]int `json:"tools,omitempty"` // other limits for tools, by name or by class ("@shell"); nil: none
	// Message is the most characters of all results of a round, of which the largest are
	// folded first, but for those that a view has shown; 0: no such limit.
	Message int `json:"message,omitempty"`
	Preview int `json:"preview,omitempty"` // characters that are shown; 0: none
	// Window: a result of more than 1/Window of the window is folded; 0: no such limit.
	Window int    `json:"window,omitempty"`
	Dir    string `json:"dir,omitempty"` // folder for plain copies, where the session keeps such; empty: none
	// Stub has {size}, {path} (or how to unfold), {preview} and {handle}; empty: pleat's own.
	Stub   string   `json:"stub,omitempty"`
	Exempt []string `json:"exempt,omitempty"` // tools whose results stay, by name or by class; nil: none
}

// Name returns "spill".
func (Spill) Name() string { return "spill" }

// Check refuses negative numbers, two limits for one tool and a stub that would be blank.
func (s Spill) Check() error {
	tools, spelled := slices.Sorted(maps.Keys(s.Tools)), make(map[string]string)
	for _, tool := range tools {
		if err := fold.CheckNumbers("chars of tool "+tool, s.Tools[tool]); err != nil {
			return err
		}
		if other, ok := spelled[client.Plain(tool)]; ok {
			return fmt.Errorf("tools has limits for %q and %q, which are one tool: leave one out", other, tool)
		}
		spelled[client.Plain(tool)] = tool
	}
	if err := knownTools(append(tools, s.Exempt...)); err != nil {
		return err
	}
	said := s.Stub
	if said != "" && s.Preview == 0 {
		said = " " + strings.ReplaceAll(said, "{preview}", "")
	}
	numbers := fold.CheckNumbers("chars, message, preview and window", s.Chars, s.Message, s.Preview, s.Window)
	return cmp.Or(numbers, notBlank("stub", said))
}

// Pull does nothing: results are spilled at birth or not at all.
func (Spill) Pull(context.Context, *fold.Draft) error { return nil }

// MayFold reports whether results of these sizes might be too large: neither characters
// nor tokens are more than bytes.
func (s Spill) MayFold(bytes []int, lim fold.Limits) bool {
	least := math.MaxInt - 1
	if s.Chars > 0 {
		least = s.Chars
	}
	for _, chars := range s.Tools {
		if chars > 0 {
			least = min(least, chars)
		}
	}
	if s.Window > 0 {
		least = min(least, lim.Window/s.Window/4)
	}
	total := 0
	for _, n := range bytes {
		if n > least {
			return true
		}
		total += n
	}
	return s.Message > 0 && total > s.Message
}

// Born folds what is too large, and of a round's results the largest until the rest is small enough.
func (s Spill) Born(b *fold.Birth) {
	type big struct {
		ref   transcript.BlockRef
		chars int
	}
	var results []big
	total := 0
	for ref, chars := range b.Earlier() {
		if call := b.Call(ref); !call.IsOneOf(s.Exempt) {
			results, total = append(results, big{ref, chars}), total+chars
		}
	}
	for ref, r := range b.Results() {
		call := b.Call(ref)
		if call.IsOneOf(s.Exempt) {
			continue
		}
		chars, why := utf8.RuneCountInString(annotate.Output(r.Text())), ""
		if limit := s.limit(call.Tool); limit > 0 && chars > limit {
			why = fmt.Sprintf("more than %s characters", text.Thousands(limit))
		} else if s.Window > 0 && b.Tokens(r) > b.Limits.Window/s.Window {
			why = fmt.Sprintf("more than 1/%d of the window", s.Window)
		}
		if why != "" {
			if f := s.spill(b, ref, why); f != nil {
				total += utf8.RuneCountInString(f.Stub)
				continue
			}
		}
		results, total = append(results, big{ref, chars}), total+chars
	}
	if s.Message == 0 {
		return
	}
	slices.SortStableFunc(results, func(a, b big) int { return b.chars - a.chars }) // the largest go first
	why := fmt.Sprintf("results of one message above %s characters", text.Thousands(s.Message))
	for _, c := range results {
		if total <= s.Message {
			break
		}
		if f := s.spill(b, c.ref, why); f != nil {
			total -= c.chars - utf8.RuneCountInString(f.Stub)
		}
	}
}

// limit returns how many characters a result of a tool may have: a limit for its name counts
// before one for its class.
func (s Spill) limit(tool string) int {
	limit := s.Chars
	for _, pattern := range slices.Sorted(maps.Keys(s.Tools)) { // classes come first
		if client.Match(pattern, tool) {
			limit = s.Tools[pattern]
		}
	}
	return limit
}

// spill folds one result, if that makes it shorter.
func (s Spill) spill(b *fold.Birth, ref transcript.BlockRef, why string) *fold.Fold {
	r, ok := b.Result(ref)
	if !ok || r.Parts.Has(transcript.KindImage) { // which no model has seen, and unfold does not show
		return nil
	}
	whole, file := r.Text(), ""
	output := annotate.Output(whole)
	reminders := whole[len(output):] // the model has not seen them yet
	if s.Dir != "" {
		file = spillFile(s.Dir, r.CallID)
	}
	return b.Fold(ref, why, file, func(handle, kept string) string {
		if s.Stub != "" {
			return fold.Expand(s.Stub, "{size}", text.Kilobytes(len(whole)), "{path}", cmp.Or(kept, b.Where(handle)),
				"{preview}", text.ClipRunes(output, s.Preview), "{handle}", handle) + reminders
		}
		// The end of an output says how it went, so it gets a quarter of the preview.
		head, tail := text.ClipRunes(output, s.Preview*3/4), text.CutEnd(output, s.Preview/4)
		return fmt.Sprintf("%s\nIt begins:\n%s\n[…]\nIt ends:\n%s%s", b.Stub(ref, handle), head, tail, reminders)
	})
}

// spillFile names the file for a spilled result. Ids come from outside, so characters that
// could lead out of the folder are replaced.
func spillFile(dir, callID string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, callID)
	if len(name) > 100 { // file systems allow some 250
		name = name[:80] + "-" + transcript.HashOf(callID).String()[:16]
	}
	return path.Join(dir, name+".txt")
}

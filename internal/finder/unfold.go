package finder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Unfold finds what a request names and shows the part that it chooses. A handle that
// nothing has is [store.ErrNotFound].
func (f *Finder) Unfold(ctx context.Context, r recall.UnfoldRequest) (recall.Unfolded, error) {
	f = f.reading(ctx)
	u, err := f.named(r)
	if f.read.Err != nil {
		return recall.Unfolded{}, f.read.Err
	}
	return u, err
}

func (f *Finder) named(r recall.UnfoldRequest) (recall.Unfolded, error) {
	if spec, ok := strings.CutPrefix(strings.Trim(r.Handle, " \t\r\n\"'`"), recall.PathPrefix); ok {
		return f.file(spec, r)
	}
	u, err := f.unfold(r)
	if errors.Is(err, store.ErrNotFound) && f.Folded(handleIn(r.Handle)) {
		err = fmt.Errorf("the message that was folded under it has other content now: %w", store.ErrCorrupt)
	}
	return u, err
}

func (f *Finder) unfold(r recall.UnfoldRequest) (recall.Unfolded, error) {
	p, name, err := f.find(r.Handle)
	if err != nil {
		return recall.Unfolded{}, err
	}
	u := recall.Unfolded{Source: f.source(p, name)}
	r.Raw = r.Raw || transcript.ParseHandle(name) == 0 // what has no handle has no text
	if u.Whole, err = f.Content(f.read.Ctx, p, name); err == nil && r.Raw {
		u.Whole, err = f.wire(p)
	}
	if err != nil {
		return recall.Unfolded{}, err
	}
	shown := u.Whole
	if !r.Raw && !r.Exact {
		shown = f.readable(p)
	}
	r.Handle = name
	return u, f.show(&u, shown, r)
}

// find looks a handle up. Models copy handles with what is around them and confuse letters
// with digits; the alphabet of handles leaves no doubt which is meant.
func (f *Finder) find(handle string) (transcript.Place, string, error) {
	name := handleIn(handle)
	for _, try := range []string{name, confusable.Replace(name)} {
		if p, ok := f.Place(try); ok {
			return p, try, nil
		}
	}
	if n, err := strconv.Atoi(name); err == nil { // "#12"
		return f.callNumbered(n)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "m")); err == nil { // "m12", as digests name messages
		return f.messageNumbered(n)
	}
	const none = "no such handle in this session (handles work only in the session that made them): %w"
	return transcript.Place{}, "", fmt.Errorf(none, store.ErrNotFound)
}

// callNumbered finds what tells most about a call of the ledger.
func (f *Finder) callNumbered(n int) (transcript.Place, string, error) {
	if n < 1 || n > f.Ledger().Len() {
		has := text.Plural(f.Ledger().Len(), "call")
		err := fmt.Errorf("there is no call #%d in this session, which has %s: %w", n, has, store.ErrNotFound)
		return transcript.Place{}, "", err
	}
	e := f.Ledger().Entry(n)
	name := cmp.Or(e.Named(f.Facts()).Handle, f.Facts().Block(e.Call).Handle.String())
	p, ok := f.Place(name)
	if !ok {
		return p, "", fmt.Errorf("call #%d (%s) has neither input nor result: %w", n,
			ledger.CallLabel(&e), store.ErrNotFound)
	}
	return p, name, nil
}

// messageNumbered finds the longest block of a message that has text, or else all of it.
func (f *Finder) messageNumbered(n int) (transcript.Place, string, error) {
	if n < 1 || n > len(f.Facts()) {
		has := text.Plural(len(f.Facts()), "message")
		err := fmt.Errorf("there is no message %d in this session, which has %s: %w", n, has, store.ErrNotFound)
		return transcript.Place{}, "", err
	}
	name := f.Facts().Longest(n - 1)
	if p, ok := f.Place(name); ok {
		return p, name, nil
	}
	return transcript.Place{Start: n - 1, End: n, Block: -1}, fmt.Sprintf("m%d", n), nil
}

// handleIn returns a handle without what models copy along with it.
func handleIn(text string) string {
	name := strings.ToLower(strings.Trim(text, " \t\r\n\"'`()[]<>{}.,:;#"))
	return strings.TrimPrefix(name, "unfold(\"")
}

var confusable = strings.NewReplacer("o", "0", "i", "1", "l", "1", "u", "v")

// wire returns the bytes that a place had on the wire: a block's, or messages on a line
// each. What was never on a wire is in the neutral form, which has everything too, such as
// pictures.
func (f *Finder) wire(p transcript.Place) (string, error) {
	if p.Block >= 0 {
		return transcript.BlockJSON(f.read.Block(transcript.BlockRef{Message: p.Start, Block: p.Block}))
	}
	var b strings.Builder
	for i := p.Start; i < p.End; i++ {
		raw, err := transcript.MessageJSON(f.read.Message(i))
		if err != nil {
			return "", err
		}
		b.WriteString(raw + "\n")
	}
	return b.String(), nil
}

// readable returns the text at a place with the input of calls as text.
func (f *Finder) readable(p transcript.Place) string {
	if p.Block >= 0 {
		return conv.Readable(f.read.Block(transcript.BlockRef{Message: p.Start, Block: p.Block}))
	}
	var b strings.Builder
	for i := p.Start; i < p.End; i++ {
		transcript.RenderMessage(&b, i, conv.ReadableCalls(f.read.Message(i)), fence.Block)
	}
	return b.String()
}

// show fills in what is shown of a text, within the budget, and how large the text is.
func (f *Finder) show(u *recall.Unfolded, txt string, r recall.UnfoldRequest) error {
	u.Lines, u.Bytes, u.Hash = text.LineCount(txt), len(txt), transcript.HashOf(u.Whole)
	if r.From < 0 || r.To < 0 || r.Column < 0 {
		return errors.New("lines and columns are not negative")
	}
	var cuts []cut
	lines := linesOf(txt)
	switch {
	case r.Pattern != "":
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return fmt.Errorf("read pattern: %w", err)
		}
		cuts, u.Matches = lines.matching(re, r)
	default:
		cuts = lines.between(r)
		if len(cuts) == 0 && r.From > max(lines.len(), 1) {
			return fmt.Errorf("line %d is past the end: it has %s", r.From, text.Plural(lines.len(), "line"))
		}
	}
	shown, rest := fitCuts(lines, cuts, r.Budget, f.Tokens().CountText)
	u.Shown = shown
	if rest != nil {
		u.More = f.Call.next(r, *rest)
	}
	return nil
}

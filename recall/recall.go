// Package recall gives back what was folded. A [Finder] unfolds a handle, searches what was
// said and lists calls; [Tools] are the tools by which a model asks for that, and [Answer]
// answers them for a session.
package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// UnfoldRequest says what to show of something folded: with the handle alone, all of it.
// Lines and bytes choose a part, a pattern chooses lines.
type UnfoldRequest struct {
	// Handle is as a stub, the ledger or a search names it; or "#12" for what tells most about
	// call 12, its change of a file or else its result; or [PathPrefix] and a file.
	Handle string `json:"handle"`

	From int `json:"from,omitempty"` // first line, counted from 1; 0: the beginning
	To   int `json:"to,omitempty"`   // last line; 0: the end
	// Column is the byte of the first line to begin with, counted from 1, for lines that
	// are too long to be shown at once.
	Column int `json:"column,omitempty"`

	// Offset and Length choose bytes instead of lines, Offset counted from 0. A Length
	// of 0 means up to the end. With a pattern they have no effect.
	Offset int `json:"offset,omitempty"`
	Length int `json:"length,omitempty"`

	// Pattern shows the lines, of those chosen, that match this regular expression
	// (RE2), with Around lines before and after each (0: two; negative: none).
	Pattern string `json:"pattern,omitempty"`
	Around  int    `json:"around,omitempty"`

	// Raw shows the JSON on the wire it came from instead of the text, or pleat's neutral
	// form if it never was on a wire. It has what text leaves out, such as pictures.
	Raw bool `json:"raw,omitempty"`

	// Exact shows the bytes that a fold's hash is of. Otherwise the input of calls is shown as
	// the command, the diff or the file that it is.
	Exact bool `json:"exact,omitempty"`

	// Diff shows what the session changed in a file, for a handle that begins with
	// [PathPrefix].
	Diff bool `json:"diff,omitempty"`

	// Budget is the most tokens that [Unfolded.Text] may take; 0: no bound. More names what
	// does not fit.
	Budget int `json:"budget,omitempty"`
}

// Source says what a handle stands for: who said it, where it is in the conversation, and
// what made it stale.
type Source struct {
	Handle  string `json:"handle"`
	What    string `json:"what"`             // "result of read_file src/a.go", "user", "messages 3 to 40"
	Message int    `json:"message"`          // number of the message, counted from 1
	Turn    int    `json:"turn"`             // number of the model's answer it belongs to or follows
	Call    int    `json:"call,omitempty"`   // calls and results: number in the ledger
	Result  string `json:"result,omitempty"` // a command that changed files: the handle of its result
	Lines   int    `json:"lines"`            // of all of it
	Bytes   int    `json:"bytes"`
	// Stale says what made it stale: "superseded by k3v9x0ab (edit src/a.go)". Empty: no
	// call did.
	Stale   string `json:"stale,omitempty"`
	Visible bool   `json:"visible,omitempty"` // the view shows it as it is
}

// Line is a line of something folded, or a part of a long one.
type Line struct {
	Number int    `json:"line"`            // counted from 1
	Column int    `json:"column"`          // of the first byte shown, counted from 1
	Text   string `json:"text"`            // exact, without the line feed
	Size   int    `json:"size"`            // bytes of the whole line
	Match  bool   `json:"match,omitempty"` // it matches, and is not only near a match
	ended  bool   // the line feed after it belongs to what was asked for
}

func (l *Line) whole() bool { return l.Column == 1 && len(l.Text) == l.Size }

// Unfolded is the answer to an [UnfoldRequest].
type Unfolded struct {
	Source
	Hash    transcript.Hash `json:"sha256"` // of all of it
	Shown   []Line          `json:"shown"`
	Matches int             `json:"matches,omitempty"` // lines that match the pattern, shown or not
	// More is the call that shows what comes next; empty if all that was asked for is
	// shown.
	More string `json:"more,omitempty"`
	// File says how much of a file is known, if one was asked for.
	File *FileState `json:"file,omitempty"`

	exact string // with hash Hash
	text  string // lines and bytes are counted in this
}

// Whole is the complete original text, whatever part was asked for, byte for byte; of a call
// the JSON of its input.
func (u Unfolded) Whole() string { return u.exact }

// Content is what was asked for and shown, byte for byte; of a call, whose input is read as
// [toolcall.Text], that text.
func (u Unfolded) Content() string {
	var b strings.Builder
	for _, l := range u.Shown {
		b.WriteString(l.Text)
		if l.ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Unfold finds what a request names and shows the part that it chooses. A handle that
// nothing has is [store.ErrNotFound].
func (f *Finder) Unfold(ctx context.Context, r UnfoldRequest) (Unfolded, error) {
	f = f.reading(ctx)
	u, err := f.named(r)
	if f.read.err != nil {
		return Unfolded{}, f.read.err
	}
	return u, err
}

func (f *Finder) named(r UnfoldRequest) (Unfolded, error) {
	if spec, ok := namesFile(r.Handle); ok {
		return f.file(spec, r)
	}
	u, err := f.unfold(r)
	if errors.Is(err, store.ErrNotFound) && f.Folded(handleIn(r.Handle)) {
		err = fmt.Errorf("the message that was folded under it has other content now: %w", store.ErrCorrupt)
	}
	return u, err
}

func (f *Finder) unfold(r UnfoldRequest) (Unfolded, error) {
	p, name, err := f.find(r.Handle)
	if err != nil {
		return Unfolded{}, err
	}
	u := Unfolded{Source: f.source(p, name)}
	r.Raw = r.Raw || transcript.ParseHandle(name) == 0 // what has no handle has no text
	if u.exact, err = f.Content(f.read.ctx, p, name); err == nil && r.Raw {
		u.exact, err = f.wire(p)
	}
	if err != nil {
		return Unfolded{}, err
	}
	if u.text = u.exact; !r.Raw && !r.Exact {
		u.text = f.readable(p)
	}
	u.Lines, u.Bytes, u.Hash = text.LineCount(u.text), len(u.text), transcript.HashOf(u.exact)
	r.Handle = name
	return u, u.choose(r, f.Call, f.Tokens().CountText)
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
	hint := "handles work only in the session that made them"
	if near := f.near(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return transcript.Place{}, "", fmt.Errorf("no such handle in this session (%s): %w", hint, store.ErrNotFound)
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

// near lists up to three handles that differ from name in one or two characters.
func (f *Finder) near(name string) []string {
	var out []string
	for h := range f.Handles() {
		if len(h) == len(name) && differing(h, name) <= 2 {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out[:min(3, len(out))]
}

func differing(a, b string) int {
	n := 0
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// wire returns the bytes that a place had on the wire: a block's, or messages on a line
// each. What was never on a wire is in the neutral form, which has everything too, such as
// pictures.
func (f *Finder) wire(p transcript.Place) (string, error) {
	if p.Block >= 0 {
		return transcript.BlockJSON(f.block(transcript.BlockRef{Message: p.Start, Block: p.Block}))
	}
	var b strings.Builder
	for i := p.Start; i < p.End; i++ {
		raw, err := transcript.MessageJSON(f.message(i))
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
		return conv.Readable(f.block(transcript.BlockRef{Message: p.Start, Block: p.Block}))
	}
	var b strings.Builder
	for i := p.Start; i < p.End; i++ {
		transcript.RenderMessage(&b, i, conv.ReadableCalls(f.message(i)), fence.Block)
	}
	return b.String()
}

// choose fills in what is shown of the text, within the budget.
func (u *Unfolded) choose(r UnfoldRequest, call Call, count func(string) int) error {
	if r.From < 0 || r.To < 0 || r.Column < 0 || r.Offset < 0 || r.Length < 0 {
		return errors.New("lines, columns and bytes are not negative")
	}
	var cuts []cut
	lines := linesOf(u.text)
	switch {
	case r.Pattern != "":
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return fmt.Errorf("read pattern: %w", err)
		}
		cuts, u.Matches = lines.matching(re, r)
	case r.Offset > 0 || r.Length > 0:
		if r.Offset > len(u.text) {
			return fmt.Errorf("byte %d is past the end: it has %s", r.Offset, text.Plural(len(u.text), "byte"))
		}
		end := len(u.text)
		if r.Length > 0 && r.Length < end-r.Offset {
			end = r.Offset + r.Length
		}
		cuts = lines.bytes(r.Offset, end)
	default:
		cuts = lines.between(r)
		if len(cuts) == 0 && r.From > max(lines.len(), 1) {
			return fmt.Errorf("line %d is past the end: it has %s", r.From, text.Plural(lines.len(), "line"))
		}
	}
	shown, rest := fitCuts(lines, cuts, r.Budget, count)
	u.Shown = shown
	if rest != nil {
		u.More = call.next(r, *rest)
	}
	return nil
}

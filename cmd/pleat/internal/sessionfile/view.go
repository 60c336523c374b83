package sessionfile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/speaker"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

func writeViewJSON(w io.Writer, _ *term.Console, r *Folded) error {
	rep := r.Report
	view, err := r.viewJSON()
	if err != nil {
		return err
	}
	c := compactJSON{
		Format: "pleat/compact/1", Source: r.File.Source(), Session: r.Session.Key().Session,
		Policy: r.Policy, Tokens: r.Tokens(),
		Messages: view, Folds: Folds(rep.Folds), Ledger: Entries(r.Session.Ledger(ledger.Filter{}), nil),
		Pins: []pinJSON{},
		Report: reportJSON{
			rep.Messages, len(r.view.Messages), library.ByLever(rep.Folds), rep.Epochs, rep.Snapshot, rep.Cache,
			rep.Digests,
			r.Warning,
		},
	}
	for _, text := range r.Session.Pins() {
		c.Pins = append(c.Pins, pinJSON{text, "pin"})
	}
	if c.Anchors, err = r.anchors(c.Messages); err != nil {
		return err
	}
	return term.WriteJSON(w, c)
}

// viewJSON describes the view message by message. Stubs and pages have the handle of what
// they stand for.
func (r *Folded) viewJSON() ([]viewJSON, error) {
	blocks := make(map[transcript.BlockRef]string)
	pages := make(map[string]string)
	for _, f := range r.Report.Folds {
		if f.Block >= 0 {
			blocks[transcript.BlockRef{Message: f.Start, Block: f.Block}] = f.Handle
		} else if f.Stub != "" {
			pages[f.Stub] = f.Handle
		}
	}
	list := []viewJSON{}
	for _, vm := range r.view.Messages {
		m := vm.Made
		if vm.Source >= 0 {
			var err error
			if m, err = r.Session.Message(context.Background(), vm.Source); err != nil {
				return nil, err
			}
		}
		j := viewJSON{Role: m.Role(), Message: vm.Source + 1, Blocks: []blockJSON{}}
		if vm.Source < 0 {
			j.Handle = pages[m.Text()]
		}
		next := 0
		for i, blk := range m.Blocks().All() {
			b := DescribeBlock(blk)
			if next < len(vm.Edits) && vm.Edits[next].Block == i {
				e := vm.Edits[next]
				if next++; e.Drop {
					continue
				}
				b.Text, b.Handle = e.Text, blocks[transcript.BlockRef{Message: vm.Source, Block: i}]
			}
			j.Blocks = append(j.Blocks, b)
		}
		list = append(list, j)
	}
	return list, nil
}

// DescribeBlock is a block as the JSON has it.
func DescribeBlock(blk transcript.Block) blockJSON {
	j := blockJSON{Kind: blk.Kind().String()}
	switch b := blk.(type) {
	case transcript.Text:
		j.Text = b.Text.String()
	case transcript.Thinking:
		j.Text = b.Text.String()
	case transcript.ToolCall:
		j.Text, j.Tool, j.CallID = b.Input.String(), b.Name, b.ID
	case transcript.ToolResult:
		j.Text, j.CallID, j.Error = b.Text(), b.CallID, b.Error
	case transcript.Image:
		j.Type = b.MediaType
	case transcript.Opaque:
		j.Type = b.Type
	}
	return j
}

// maxAnchors bounds the list of anchors; the most frequent come first.
const maxAnchors = 1_000

// anchors lists the exact names in what was folded, and whether the view still has them.
func (r *Folded) anchors(view []viewJSON) ([]anchorJSON, error) {
	counts, shown := make(map[string]int), make(map[string]int)
	count := func(into map[string]int, b blockJSON) {
		for name := range text.Anchors(b.Text) {
			into[name]++
		}
	}
	for _, f := range r.Report.Folds {
		for i := f.Start; i < f.End; i++ {
			m, err := r.Session.Message(context.Background(), i)
			if err != nil {
				return nil, err
			}
			for j, blk := range m.Blocks().All() {
				if f.Block < 0 || f.Block == j {
					count(counts, DescribeBlock(blk))
				}
			}
		}
	}
	for _, m := range view {
		for _, b := range m.Blocks {
			count(shown, b)
		}
	}
	list := make([]anchorJSON, 0, len(counts))
	for name, n := range counts {
		list = append(list, anchorJSON{name, n, shown[name] > 0})
	}
	slices.SortFunc(list, func(a, b anchorJSON) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return list[:min(len(list), maxAnchors)], nil
}

func writeViewText(w io.Writer, _ *term.Console, r *Folded) error {
	return r.writeText(w, true, "\n")
}

// writeText writes the view as plain text, with or without thinking, and what comes after
// each message.
func (r *Folded) writeText(w io.Writer, thinking bool, after string) error {
	msgs, err := library.Spoken(context.Background(), r.Session, r.view)
	if err != nil {
		return err
	}
	for i, m := range msgs {
		library.WriteMessage(w, m, r.view.Messages[i].Source, thinking)
		fmt.Fprint(w, after)
	}
	return nil
}

func writeViewMarkdown(w io.Writer, _ *term.Console, r *Folded) error {
	title := plain(cmp.Or(term.OneLine(r.File.Info.Title), term.FileName(r.File.Name)))
	fmt.Fprintf(w, "# %s\n\n%s of %s tokens, %s.\n", title, term.Thousands(r.Report.Snapshot.Tokens),
		term.Thousands(r.Report.Whole), term.Plural(len(r.Report.Folds), "fold"))
	msgs, err := library.Spoken(context.Background(), r.Session, r.view)
	if err != nil {
		return err
	}
	for i, m := range msgs {
		role := cmp.Or(string(m.Role()), "nobody")
		_, first := utf8.DecodeRuneInString(role)
		number := "by pleat"
		if source := r.view.Messages[i].Source; source >= 0 {
			number = fmt.Sprintf("message %d", source+1)
		}
		fmt.Fprintf(w, "\n## %s (%s)\n", plain(strings.ToUpper(role[:first])+role[first:]), number)
		for _, blk := range m.Blocks().All() {
			writeMarkdown(w, blk)
		}
	}
	return nil
}

// writeMarkdown writes a block so that nothing in it gets out: texts stand in a quotation or in a
// fence, names on one line.
func writeMarkdown(w io.Writer, blk transcript.Block) {
	boxed := func(what, text, lang string) {
		fmt.Fprintf(w, "\n%s\n\n%s\n", what, fenced(fence.Shown(text), lang))
	}
	switch b := blk.(type) {
	case transcript.Text:
		fmt.Fprintf(w, "\n%s\n", quoted(fence.Shown(b.Text.String())))
	case transcript.Thinking:
		if !b.Text.IsEmpty() {
			fmt.Fprintf(w, "\n*thinking:*\n\n%s\n", quoted(fence.Shown(b.Text.String())))
		}
	case transcript.ToolCall:
		boxed("**"+plain(b.Name)+"**", b.Input.String(), "json")
	case transcript.ToolResult:
		what := "Result:"
		if b.Error {
			what = "Error:"
		}
		boxed(what, b.Text(), "")
	case transcript.Image:
		fmt.Fprintf(w, "\n*(%s %s)*\n", b.Kind(), plain(b.MediaType))
	case transcript.Opaque:
		if b.Type == speaker.Program {
			boxed("Program:", b.Raw, "")
			return
		}
		fmt.Fprintf(w, "\n*(%s %s)*\n", b.Kind(), plain(b.Type))
	}
}

// plain is a name in Markdown, on one line.
func plain(name string) string {
	return markup.ReplaceAllString(fence.Shown(fence.Line(name)), `\$0`)
}

var (
	markup = regexp.MustCompile("[\\\\`*<>&\\[\\]]")
	// A quotation does not hold HTML, which can end it.
	html = regexp.MustCompile(`<[A-Za-z/!?]`)
)

func quoted(text string) string {
	if html.MatchString(text) {
		return fenced(text, "")
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// fenced puts a text into a Markdown fence that is longer than any in the text.
func fenced(text, lang string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

const promptHead = `This continues an earlier session of the same work. What follows is that session: its older part
as a page that a program wrote, its newest part word for word. The system prompt and the tools are
yours, not part of it. Tool calls in it have been carried out; do not repeat them to see their
results. Files may have changed since: read a file again before you edit it.

Where something is folded, the command ` + "`pleat unfold HANDLE`" + ` shows the original exactly, and
` + "`pleat search \"words\" --session %s`" + ` finds lines in it. There are no tools of these names.
`

const promptTail = `
Go on from where it ended. If the last request was fulfilled, say so in a sentence and wait for the
next one.
`

// writeViewPrompt writes a text that a new session can start from: what it is, the page,
// the newest turns word for word, and what the reader should do.
func writeViewPrompt(w io.Writer, _ *term.Console, r *Folded) error {
	fmt.Fprintf(w, promptHead, r.Session.Key().Session)
	if dir := r.File.Info.Dir; dir != "" {
		fmt.Fprintf(w, "\nWorking folder: %s\n", fence.Shown(fence.Line(dir)))
	}
	var said strings.Builder
	if err := r.writeText(&said, false, ""); err != nil { // thinking is only valid in its own session
		return err
	}
	fmt.Fprint(w, "\n"+library.Earlier(said.String())+promptTail)
	return nil
}

// requestBody writes a request body, and warns about what its provider would refuse. An
// interrupted session may not be fit to send.
func requestBody[R interface {
	Check(model.Model) []transcript.Violation
}](encode func(*model.Request) ([]byte, error), decode func([]byte) (R, error)) writeFunc {
	return func(w io.Writer, p *term.Console, r *Folded) error {
		msgs, err := r.Session.Resolve(context.Background(), r.view)
		if err != nil {
			return fmt.Errorf("apply the folds: %w", err)
		}
		info := r.File.Info
		body, err := encode(&model.Request{
			Model: cmp.Or(info.Model, r.File.Model.ID), System: info.System, Tools: info.Tools,
			Messages: sendable(msgs),
		})
		if err != nil {
			return fmt.Errorf("write request: %w", err)
		}
		req, err := decode(body)
		if err != nil {
			return fmt.Errorf("check request: %w", err)
		}
		for _, v := range req.Check(r.File.Model) {
			p.Note("warning: the provider will refuse this: %s\n", v)
		}
		_, err = w.Write(append(body, '\n'))
		return err
	}
}

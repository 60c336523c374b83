package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/pleat-dev/pleat"
)

// shown is the view as messages.
func (r *folded) shown() ([]pleat.Message, error) {
	msgs, err := r.session.Resolve(context.Background(), r.view)
	if err != nil {
		return nil, fmt.Errorf("apply the folds: %w", err)
	}
	return msgs, nil
}

// number is where message i of the view stands in the session: "message 12", or what it is.
func (r *folded) number(i int) string {
	if src := r.view.Messages[i].Source; src >= 0 {
		return fmt.Sprintf("message %d", src+1)
	}
	return "by pleat"
}

func writeViewText(w io.Writer, _ *program, r *folded) error {
	msgs, err := r.shown()
	if err != nil {
		return err
	}
	for i, m := range msgs {
		fmt.Fprintf(w, "--- %s, %s\n", m.Role(), r.number(i))
		for _, blk := range m.Blocks().All() {
			writeBlockText(w, blk)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func writeBlockText(w io.Writer, blk pleat.Block) {
	switch b := blk.(type) {
	case pleat.Text:
		fmt.Fprintln(w, b.Text.String())
	case pleat.Thinking:
		if !b.Text.IsEmpty() {
			fmt.Fprintln(w, "(thinking)", b.Text.String())
		}
	case pleat.ToolCall:
		fmt.Fprintf(w, "(call) %s %s\n", b.Name, b.Input.String())
	case pleat.ToolResult:
		fmt.Fprintln(w, resultWord(b))
		fmt.Fprintln(w, b.Text())
	default:
		d := describeBlock(blk)
		fmt.Fprintf(w, "(%s %s)\n", d.Kind, d.Type)
	}
}

func resultWord(b pleat.ToolResult) string {
	if b.Error {
		return "(error)"
	}
	return "(result)"
}

func writeViewMarkdown(w io.Writer, _ *program, r *folded) error {
	msgs, err := r.shown()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "# %s\n\n%s of %s tokens, %s.\n", mdTitle(r.file), thousands(r.report.Snapshot.Tokens),
		thousands(r.report.Whole), plural(len(r.report.Folds), "fold"))
	for i, m := range msgs {
		title := strings.ToUpper(string(m.Role())[:1]) + string(m.Role())[1:]
		fmt.Fprintf(w, "\n## %s (%s)\n", title, r.number(i))
		for _, blk := range m.Blocks().All() {
			writeBlockMarkdown(w, blk)
		}
	}
	return nil
}

func mdTitle(f *sessionFile) string {
	if f.info.Title != "" {
		return oneLine(f.info.Title)
	}
	return fileName(f.name)
}

func writeBlockMarkdown(w io.Writer, blk pleat.Block) {
	switch b := blk.(type) {
	case pleat.Text:
		fmt.Fprintf(w, "\n%s\n", b.Text.String())
	case pleat.Thinking:
		if !b.Text.IsEmpty() {
			fmt.Fprintf(w, "\n> *thinking:* %s\n", strings.ReplaceAll(b.Text.String(), "\n", "\n> "))
		}
	case pleat.ToolCall:
		fmt.Fprintf(w, "\n**%s**\n\n%s\n", b.Name, fenced(b.Input.String(), "json"))
	case pleat.ToolResult:
		word := "Result"
		if b.Error {
			word = "Error"
		}
		fmt.Fprintf(w, "\n%s:\n\n%s\n", word, fenced(b.Text(), ""))
	default:
		d := describeBlock(blk)
		fmt.Fprintf(w, "\n*(%s %s)*\n", d.Kind, d.Type)
	}
}

// fenced puts a text into a fence that is longer than any in the text.
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

const promptTail = `</earlier_session>

Go on from where it ended. If the last request was fulfilled, say so in a sentence and wait for the
next one.
`

// writeViewPrompt writes a text that a new session can go on from: what it is, the page,
// the newest turns word for word, and what is asked of the reader.
func writeViewPrompt(w io.Writer, _ *program, r *folded) error {
	msgs, err := r.shown()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, promptHead, r.session.Key().Session)
	if dir := r.file.info.Dir; dir != "" {
		fmt.Fprintf(w, "\nWorking folder: %s\n", dir)
	}
	fmt.Fprintln(w, "\n<earlier_session>")
	for i, m := range msgs {
		fmt.Fprintf(w, "--- %s, %s\n", m.Role(), r.number(i))
		for _, blk := range m.Blocks().All() {
			if blk.Kind() != pleat.KindThinking { // bound to the session it came from
				writeBlockText(w, blk)
			}
		}
	}
	fmt.Fprint(w, promptTail)
	return nil
}

// requestBody writes a request body and says what its provider would refuse: a session that
// was broken off may not be one that can be sent as it is.
func requestBody[R interface {
	Check(pleat.Model) []pleat.Violation
}](encode func(*pleat.Request) ([]byte, error), decode func([]byte) (R, error)) func(io.Writer, *program, *folded) error {
	return func(w io.Writer, p *program, r *folded) error {
		msgs, err := r.shown()
		if err != nil {
			return err
		}
		info := r.file.info
		body, err := encode(&pleat.Request{Model: cmp.Or(info.Model, r.file.model.ID), System: info.System, Tools: info.Tools, Messages: sendable(msgs)})
		if err != nil {
			return fmt.Errorf("write request: %w", err)
		}
		req, err := decode(body)
		if err != nil {
			return fmt.Errorf("check request: %w", err)
		}
		for _, v := range req.Check(r.file.model) {
			fmt.Fprintf(p.stderr, "warning: the provider will refuse this: %s\n", v)
		}
		_, err = w.Write(append(body, '\n'))
		return err
	}
}

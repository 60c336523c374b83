package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Asked is a model. Its answers are kept in a folder under the hash of what it was asked, so
// that a run that was broken off goes on where it was, and one that is run again costs nothing.
type Asked struct {
	Generator model.Generator
	Name      string      // tells its answers from another model's
	Model     model.Model // window and prices; zero: not known
	Dir       string      // of what is kept; empty: nothing is
}

// ask asks the model, or the folder.
func (a Asked) ask(ctx context.Context, req *model.Request) (model.Reply, error) {
	if a.Dir == "" {
		return a.Generator.Generate(ctx, req, nil)
	}
	hash := transcript.HashOf(a.Name + "\x00" + req.System + "\x00" + plainText(req.Messages))
	name := filepath.Join(a.Dir, "asked", hash.String()+".txt")
	if data, err := os.ReadFile(name); err == nil {
		return model.Reply{
			Messages: []transcript.Message{transcript.Assistant(transcript.Say(string(data)))},
			Stop:     model.StopEnd,
		}, nil
	}
	reply, err := a.Generator.Generate(ctx, req, nil)
	if err == nil && reply.Stop == model.StopEnd {
		if err = term.WriteIn(name, []byte(replyText(reply))); err != nil {
			err = fmt.Errorf("keep answer: %w", err)
		}
	}
	return reply, err
}

func replyText(r model.Reply) string {
	text := ""
	for _, m := range r.Messages {
		text += m.Text()
	}
	return text
}

// plainText writes messages for a model to read about.
func plainText(msgs []transcript.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case transcript.Text:
				fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role(), blk.Text)
			case transcript.ToolCall:
				fmt.Fprintf(&b, "[call of %s]\n%s\n\n", blk.Name, blk.Input)
			case transcript.ToolResult:
				fmt.Fprintf(&b, "[result]\n%s\n\n", blk.Text())
			}
		}
	}
	return b.String()
}

// Estimate is what asking will cost at most, before anything is asked.
type Estimate struct {
	Requests      int
	Input, Output int     // tokens
	USD           float64 // meaningful if Known
	Known         bool
}

// add reckons n requests of that size to a model.
func (e *Estimate) add(m model.Model, n, input, output int) {
	e.Requests += n
	e.Input += n * input
	e.Output += n * output
	usd, ok := m.Cost(model.Usage{Input: input, Output: output})
	e.USD += float64(n) * usd
	e.Known = e.Known && ok
}

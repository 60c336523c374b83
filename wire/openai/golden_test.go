package openai

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire/wiretest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// TestRequests shows how requests are decoded, and what they look like with every tool
// result folded.
func TestRequests(t *testing.T) {
	wiretest.Golden(t, "testdata/request/*.txtar", 1, func(t *testing.T, name string, in []wiretest.File) []wiretest.File {
		d := decoders[0]
		if strings.HasPrefix(name, "responses") {
			d = decoders[1]
		}
		r, err := d.decode([]byte(in[0].Data))
		must(t, err)
		c := r.common()
		var sb strings.Builder
		fmt.Fprintf(&sb, "model %s\n", c.Model)
		if rr, ok := r.(*ResponsesRequest); ok {
			fmt.Fprintf(&sb, "partial %v, system %d\n", rr.Partial(), len(rr.System))
		}
		for _, tool := range c.Tools {
			fmt.Fprintf(&sb, "tool %s: %q %q\n", tool.Name, tool.Description, tool.Schema)
		}
		for _, m := range c.Messages {
			sb.WriteString(summary(m) + "\n")
		}
		for _, v := range r.Check(model.Model{}) {
			fmt.Fprintf(&sb, "violation %s\n", v)
		}
		v := transcript.Whole(len(c.Messages))
		for i, m := range c.Messages {
			if m.Role() == transcript.RoleTool {
				v.Messages[i].Edits = []transcript.BlockEdit{{Block: 0, Text: "[folded]"}}
			}
		}
		masked, err := r.Splice(v)
		must(t, err)
		return []wiretest.File{{Name: "decoded", Data: sb.String()}, {Name: "masked.json", Data: string(masked)}}
	})
}

// TestStreams shows what recorders make of streams.
func TestStreams(t *testing.T) {
	wiretest.Golden(t, "testdata/stream/*.txtar", 1, func(t *testing.T, name string, in []wiretest.File) []wiretest.File {
		data := []byte(in[0].Data)
		if strings.HasSuffix(name, "-cut") || strings.HasSuffix(name, "-reasoning") {
			data = bytes.TrimSuffix(data, []byte("\n"))
		}
		var sb strings.Builder
		onDelta := func(d model.Delta) {
			fmt.Fprintf(&sb, "delta %d %s %q", d.Index, d.Kind, d.Text)
			if d.CallID != "" || d.Name != "" {
				fmt.Fprintf(&sb, " call %s %s", d.CallID, d.Name)
			}
			sb.WriteByte('\n')
		}
		r := newRecorder(strings.HasPrefix(name, "chat"), onDelta)
		r.Write(data)
		sb.WriteString(showReply(r.Reply()))
		return []wiretest.File{{Name: "reply", Data: sb.String()}}
	})
}

func showReply(r model.Reply, err error) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "id %s, model %s, stop %s (%s)\n", r.ID, r.Model, r.Stop, r.StopRaw)
	fmt.Fprintf(&sb, "usage %+v\n", r.Usage)
	for _, m := range r.Messages {
		fmt.Fprintf(&sb, "%s\n  %s\n", summary(m), m.Raw())
	}
	if r.Err != nil {
		fmt.Fprintf(&sb, "api error %s: %s\n", r.Err.Kind, r.Err.Message)
	}
	if err != nil {
		fmt.Fprintf(&sb, "error: %v\n", err)
	}
	return sb.String()
}

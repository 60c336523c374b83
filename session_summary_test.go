package pleat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
)

// A summary that was paid for stands in the next request, under every policy, on every wire, with thinking and
// without, whoever speaks next.
func TestSummaryStands(t *testing.T) {
	for _, p := range []string{"book", "threshold", "three-layer", "four-lever", "four-layer"} {
		for _, w := range wireFormats() {
			for _, thinks := range []bool{false, true} {
				for _, next := range []string{"user", "tool", "compact"} {
					if thinks && w.format != transcript.FormatAnthropic {
						continue
					}
					name := fmt.Sprintf("%s/%s/thinking %v/%s", p, w.format, thinks, next)
					t.Run(name, func(t *testing.T) { summaryStands(t, p, w, thinks, next) })
				}
			}
		}
	}
}

func summaryStands(t *testing.T, name string, w wireFormat, thinks bool, next string) {
	const summary = "Read file0.go, file1.go, file2.go, file3.go and file4.go; handlers wait for the queue."
	p, err := policy.ByName(name)
	must(t, err)
	m := model.Model{ID: "m", Window: 200_000, Thinking: model.ThinkingRule{First: thinks}}
	summarizer := pleattest.Always("<summary>" + summary + "</summary>")
	o := &pleat.Options{
		Policy: p, Model: m, Tokens: counter, Check: w.check, Digest: digest.Options{Generator: summarizer},
		Codecs: map[transcript.Format]transcript.Codec{w.format: w.codec},
	}
	if thinks {
		o.Check = anthropic.Checker(m)
	}
	var kept []string
	o.KeepFile = func(name string, data []byte) (string, error) {
		if len(summarizer.Requests()) == 0 {
			kept = append(kept, strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", ","))
		}
		return name, nil
	}
	if next != "compact" {
		o.Budget = fold.Budget{Window: 9_000}
	}
	s := open(t, store.NewMemory(), o)
	msgs := []transcript.Message{transcript.User("Read the files. Never touch legacy/.")}
	round := func(i int) {
		id := fmt.Sprintf("call_%d", i)
		blocks := []transcript.Block{
			transcript.Thinking{Text: transcript.Plain("Hm."), Signature: "c2ln"},
			transcript.Say(strings.Repeat(fmt.Sprintf("Handlers of file %d wait for their queue. ", i), 60)),
			transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, i)),
		}
		if !thinks {
			blocks = blocks[1:]
		}
		msgs = append(msgs, transcript.Assistant(blocks...), transcript.Results(transcript.Result(id, "package p")))
	}
	for i := range 14 {
		round(i)
	}
	if next == "user" {
		msgs = append(msgs, transcript.Assistant(transcript.Say("Done.")), transcript.User("And now?"))
	}
	sent := ""
	look := func(r wireRequest) { sent = pleattest.Text(messagesOf(r)) }
	if next == "compact" {
		play(t, next, w, m, s, msgs, []int{len(msgs)}, look)
		round(14)
		body, err := w.encode(&model.Request{Model: "m", MaxTokens: 100, Messages: msgs})
		must(t, err)
		req, err := w.decode(body)
		must(t, err)
		list := messagesOf(req)
		pleattest.Append(t, s, list[s.Len():len(list)-1]...) // the call that waits for its result
		_, err = s.Compact(t.Context(), "")
		must(t, err)
	}
	for range 2 {
		play(t, next, w, m, s, msgs, []int{len(msgs)}, look)
		n := len(summarizer.Requests())
		if n != 1 || !strings.Contains(sent, summary) || strings.Contains(sent, "made by a program") {
			t.Errorf("%d summaries were asked for; the request is\n%.300s", n, sent)
		}
		msgs = append(msgs, transcript.Assistant(transcript.Say("Fine.")), transcript.User("Go on."))
	}
	if p.Transcripts != "" {
		keptInOneForm(t, kept)
	}
}

// keptInOneForm fails unless one transcript was kept before the summarizer was asked, which is one conversation in
// Anthropic's form, whatever the wire, with every call answered.
func keptInOneForm(t *testing.T, kept []string) {
	t.Helper()
	if len(kept) != 1 {
		t.Fatalf("%d transcripts were there when the summary was asked for", len(kept))
	}
	req, err := anthropic.Decode([]byte(`{"model":"m","max_tokens":9,"messages":[` + kept[0] + `]}`))
	must(t, err)
	if bad := req.Check(model.Model{}); bad != nil {
		t.Errorf("the transcript could not be sent: %v\n%.400s", bad, kept[0])
	}
	if n := strings.Count(kept[0], `"tool_use_id"`); n < 14 || n != strings.Count(kept[0], `"tool_use"`) {
		t.Errorf("%d results in\n%.400s", n, kept[0])
	}
}

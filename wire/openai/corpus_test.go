package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest/folders"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// corpusFiles returns the files of real sessions that match a pattern. They are not part of
// the project.
func corpusFiles(t *testing.T, pattern string) []string {
	t.Helper()
	var files []string
	for _, dir := range folders.List(t) {
		list, err := filepath.Glob(filepath.Join(dir, pattern))
		must(t, err)
		files = append(files, list...)
	}
	if len(files) == 0 {
		t.Skipf("no files %s in PLEAT_CORPUS", pattern)
	}
	return files
}

func bodyOf(head string, list []json.RawMessage) []byte {
	out := []byte(head)
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, "]}"...)
}

// codexItems reads the items of a session as they went over the Responses wire.
func codexItems(t *testing.T, file string) []json.RawMessage {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	var items []json.RawMessage
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Type    string
			Payload json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if line.Type == "response_item" {
			items = append(items, line.Payload)
		}
	}
	return items
}

func TestCorpusResponses(t *testing.T) {
	for _, file := range corpusFiles(t, "codex/*/*.jsonl") {
		items := codexItems(t, file)
		t.Logf("%s: %d items", filepath.Base(file), len(items))
		checkReal(t, decoders[1], file, bodyOf(`{"model":"m","stream":true,"store":false,"input":[`, items))
	}
}

// The same sessions, put into the other format.
func TestCorpusEncodeChat(t *testing.T) {
	for _, file := range corpusFiles(t, "codex/*/*.jsonl") {
		r, err := DecodeResponses(bodyOf(`{"model":"m","input":[`, codexItems(t, file)))
		must(t, err)
		var msgs []transcript.Message
		for i, m := range r.Messages {
			switch r.items[i].typ {
			case "web_search_call", "tool_search_call", "tool_search_output": // have no form on the Chat wire
			default:
				msgs = append(msgs, m)
			}
		}
		body, err := EncodeChat(&model.Request{Model: "m", Messages: msgs})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		checkReal(t, decoders[0], file, body)
	}
}

func TestCorpusChat(t *testing.T) {
	for _, file := range corpusFiles(t, "tau-bench/*.json") {
		data, err := os.ReadFile(file)
		must(t, err)
		var tasks []struct{ Traj []json.RawMessage }
		must(t, json.Unmarshal(data, &tasks))
		t.Logf("%s: %d sessions", filepath.Base(file), len(tasks))
		for _, task := range tasks {
			checkReal(t, decoders[0], file, bodyOf(`{"model":"m","messages":[`, task.Traj))
		}
	}
}

// checkReal holds a real body to what generated ones are held to, and folds its rounds.
func checkReal(t *testing.T, d decoder, file string, body []byte) {
	t.Helper()
	orig := bytes.Clone(body)
	r, err := d.decode(body)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	msgs := r.common().Messages
	if out, err := r.Splice(transcript.Whole(len(msgs))); err != nil || !bytes.Equal(out, orig) {
		t.Fatalf("%s: not lossless: %v", file, err)
	}
	before := r.Check(model.Model{})
	if len(before) > 0 {
		t.Errorf("%s: %d violations, first %v", file, len(before), before[0])
	}
	for seed := range uint64(5) {
		g := newGen(seed)
		editInPlace(t, d, g, r)
		editAtRandom(t, d, g, r)
		out, err := r.Splice(foldRounds(g, msgs))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		after, err := d.decode(out)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if v := transcript.NewViolations(before, after.Check(model.Model{})); len(v) > 0 {
			t.Errorf("%s: folding whole rounds breaks %v", file, v)
		}
	}
}

// foldRounds is a view that leaves out random whole rounds and masks random results.
func foldRounds(g gen, msgs []transcript.Message) transcript.View {
	tr := transcript.NewTranscript(msgs...)
	gone := make([]bool, len(msgs))
	for _, r := range tr.Rounds() {
		if g.Chance(40) {
			for k := r.Start; k < r.End; k++ {
				gone[k] = true
			}
		}
	}
	var v transcript.View
	for i, m := range msgs {
		switch {
		case gone[i] && (i == 0 || !gone[i-1]):
			v.Messages = append(v.Messages, transcript.ViewMessage{Source: -1, Made: transcript.User("[folded]")})
		case gone[i]:
		default:
			vm := transcript.ViewMessage{Source: i}
			if m.Role() == transcript.RoleTool && m.Blocks().At(0).Kind() == transcript.KindToolResult &&
				g.Chance(50) {
				vm.Edits = []transcript.BlockEdit{{Block: 0, Text: "[folded]"}}
			}
			v.Messages = append(v.Messages, vm)
		}
	}
	return v
}

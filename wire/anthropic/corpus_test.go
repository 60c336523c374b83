package anthropic

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest/folders"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// TestCorpus rebuilds requests from real session files of Claude Code and holds them to
// the same properties as generated ones.
func TestCorpus(t *testing.T) {
	for _, root := range folders.List(t) {
		checkFolder(t, root)
	}
}

func checkFolder(t *testing.T, root string) {
	t.Helper()
	files := sessionFiles(t, root)
	if len(files) == 0 {
		t.Skipf("no Claude Code session files under %s", root)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			messages := readSession(t, file)
			rng := rand.New(rand.NewPCG(1, 2))
			cut := closedPrefixes(messages)
			t.Logf("%d messages, %d places to end a request", len(messages), len(cut))
			for range 4 {
				checkSession(t, messages[:cut[rng.IntN(len(cut))]], rng)
			}
			checkSession(t, messages[:cut[len(cut)-1]], rng)
		})
	}
}

func checkSession(t *testing.T, messages []sessionMessage, rng *rand.Rand) {
	t.Helper()
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":32000,"messages":[`)
	for i, m := range messages {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, m.element()...)
	}
	body = append(body, `],"stream":true}`...)
	must(t, onWire.Lossless(body, rng))
	r := mustDecode(t, string(body))
	if vs := r.Check(model.Model{}); len(vs) > 0 {
		t.Errorf("%d violations in a request of %d messages, first %v", len(vs), len(messages), vs[0])
	}
	out, err := r.Splice(foldResults(r, rng))
	must(t, err)
	folded := mustDecode(t, string(out))
	if vs := folded.Check(model.Model{}); len(vs) > 0 {
		t.Errorf("%d violations after folding, first %v", len(vs), vs[0])
	}
	n, m := transcript.NewTranscript(r.Messages...), transcript.NewTranscript(folded.Messages...)
	if len(n.Rounds()) != len(m.Rounds()) {
		t.Errorf("%d rounds before folding, %d after", len(n.Rounds()), len(m.Rounds()))
	}
}

// foldResults stubs half of the results that may be.
func foldResults(r *Request, rng *rand.Rand) transcript.View {
	v := transcript.Whole(len(r.Messages))
	for i, m := range r.Messages {
		for j, b := range m.Blocks().All() {
			if b.Kind() == transcript.KindToolResult && !r.body.Elements[i].Places[j].Content.IsZero() &&
				rng.IntN(2) == 0 {
				v.Messages[i].Edits = append(v.Messages[i].Edits, transcript.BlockEdit{Block: j, Text: "[folded]"})
			}
		}
	}
	return v
}

func sessionFiles(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head, err := io.ReadAll(io.LimitReader(f, 64<<10))
		if bytes.Contains(head, []byte(`"parentUuid"`)) && bytes.Contains(head, []byte(`"sessionId"`)) {
			files = append(files, path)
		}
		return err
	})
	must(t, err)
	return files
}

// sessionLine is what of a session file's line makes a request.
type sessionLine struct {
	UUID, ParentUUID string
	Type             string
	IsSidechain      bool
	Message          struct {
		ID, Role string
		Content  json.RawMessage
	}
}

// sessionMessage is a message put together from lines: the client writes an answer's
// blocks to lines of their own.
type sessionMessage struct {
	id, role string
	blocks   []json.RawMessage
}

func (m sessionMessage) element() []byte {
	out := []byte(`{"role":"` + m.role + `","content":[`)
	return append(append(out, bytes.Join(rawSlices(m.blocks), []byte(","))...), "]}"...)
}

func rawSlices(in []json.RawMessage) [][]byte {
	out := make([][]byte, len(in))
	for i, b := range in {
		out[i] = b
	}
	return out
}

func readSession(t *testing.T, file string) []sessionMessage {
	t.Helper()
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	var out []sessionMessage
	answered := map[string]bool{}
	for in := bufio.NewReader(f); ; {
		data, err := in.ReadBytes('\n')
		var line sessionLine
		if len(data) > 0 && json.Unmarshal(data, &line) == nil && (line.Type == "user" || line.Type == "assistant") &&
			!line.IsSidechain {
			out = addLine(out, line, answered)
		}
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
	}
}

// addLine adds a line's blocks to the conversation, as the client does before it sends:
// lines of one answer belong together, and results go behind their calls.
func addLine(out []sessionMessage, line sessionLine, answered map[string]bool) []sessionMessage {
	var blocks []json.RawMessage
	if jsonspan.Value(line.Message.Content).Kind() == jsonspan.String {
		blocks = []json.RawMessage{json.RawMessage(`{"type":"text","text":` + string(line.Message.Content) + `}`)}
	} else if json.Unmarshal(line.Message.Content, &blocks) != nil {
		return out
	}
	blocks = slices.DeleteFunc(blocks, func(b json.RawMessage) bool { return emptyText(b) })
	if line.Type == "user" {
		blocks = slices.DeleteFunc(blocks, func(b json.RawMessage) bool {
			id := jsonspan.Value(b).Get("tool_use_id").Text()
			again := id != "" && answered[id]
			answered[id] = id != ""
			return again
		})
	}
	if len(blocks) == 0 {
		return out
	}
	if line.Type == "assistant" {
		for i := len(out) - 1; i >= 0 && i >= len(out)-60; i-- {
			if out[i].id == line.Message.ID && line.Message.ID != "" {
				out[i].blocks = append(out[i].blocks, blocks...)
				return out
			}
		}
	} else if n := len(out); n > 0 && out[n-1].role == "user" {
		out[n-1].blocks = append(out[n-1].blocks, blocks...)
		return out
	}
	return append(out, sessionMessage{line.Message.ID, line.Type, blocks})
}

// closedPrefixes returns the lengths at which every call so far has its result in the
// next message, in its place.
func closedPrefixes(messages []sessionMessage) []int {
	cut := []int{1}
	for n := 2; n <= len(messages); n++ {
		m, before := messages[n-1], messages[n-2]
		if m.role != "user" || before.role != "assistant" {
			continue
		}
		var calls, results []string
		for _, b := range before.blocks {
			if jsonspan.Value(b).Get("type").Text() == "tool_use" {
				calls = append(calls, jsonspan.Value(b).Get("id").Text())
			}
		}
		for _, b := range m.blocks {
			if id := jsonspan.Value(b).Get("tool_use_id").Text(); id != "" {
				results = append(results, id)
			}
		}
		slices.Sort(calls)
		slices.Sort(results)
		if !slices.Equal(calls, results) {
			return cut
		}
		cut = append(cut, n)
	}
	return cut
}

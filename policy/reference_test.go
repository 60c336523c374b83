package policy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// The pipelines of the five texts, written anew from the texts, on messages as those have them.
// What a summarizer reads under each policy is compared with them, character for character.
// They differ from the texts in four places, each because providers refuse what the text sends:
//
//  1. book: the cut moves back to where it parts no call from its result;
//  2. threshold: the turns reach the summarizer as text, in the book's form, because calls of
//     tools that a request does not define are refused;
//  3. threshold, three-layer: "Continue." follows an acknowledgement behind which no user speaks;
//  4. ids and signatures of blocks are left out: they belong to the wire and not to the text.

type refBlock struct {
	kind, id, tool, text string // text: also the input of a call, as JSON
	failed               bool
}

type refMessage struct {
	role   string
	text   string     // content as a string …
	blocks []refBlock // … or as a list
}

func refUser(text string) refMessage { return refMessage{role: "user", text: text} }

func (m refMessage) has(kind string) bool {
	return slices.ContainsFunc(m.blocks, func(b refBlock) bool { return b.kind == kind })
}

// message is the same for pleat.
func (m refMessage) message() transcript.Message {
	switch {
	case m.blocks == nil && m.role == "user":
		return transcript.User(m.text)
	case m.blocks == nil:
		return transcript.Assistant(transcript.Say(m.text))
	}
	var blocks []transcript.Block
	var results []transcript.ToolResult
	for _, b := range m.blocks {
		switch {
		case b.kind == "text":
			blocks = append(blocks, transcript.Say(b.text))
		case b.kind == "tool_use":
			blocks = append(blocks, transcript.Call(b.id, b.tool, b.text))
		case b.failed:
			results = append(results, transcript.ErrorResult(b.id, b.text))
		default:
			results = append(results, transcript.Result(b.id, b.text))
		}
	}
	if results != nil {
		return transcript.Results(results...)
	}
	return transcript.Assistant(blocks...)
}

type reference struct {
	messages []refMessage
	tools    map[string]string // names by call id
	count    func(string) int
	files    []string // names that large outputs were written under
}

// results are the tool results but the newest, oldest first.
func (r *reference) results(keep int) (old []*refBlock) {
	for i := range r.messages {
		for j := range r.messages[i].blocks {
			if b := &r.messages[i].blocks[j]; b.kind == "tool_result" {
				old = append(old, b)
			}
		}
	}
	return old[:max(len(old)-keep, 0)]
}

func (r *reference) maskOlderResults(keep int) {
	for _, b := range r.results(keep) {
		if !strings.HasPrefix(b.text, "[tool_result elided") {
			b.text = fmt.Sprintf("[tool_result elided; call_id=%s; original_tokens=%d]", b.id, r.count(b.text))
		}
	}
}

func (r *reference) microCompact(above int, preserve, placeholder string) {
	for _, b := range r.results(3) {
		if len(b.text) > above && (preserve == "" || r.tools[b.id] != preserve) {
			b.text = strings.ReplaceAll(placeholder, "{tool_name}", r.tools[b.id])
		}
	}
}

func (r *reference) snipCompact() {
	const most = 50
	n := len(r.messages)
	if n <= most {
		return
	}
	head, tail := 3, n-(most-3)
	if r.messages[head-1].has("tool_use") {
		for head < n && r.messages[head].has("tool_result") {
			head++
		}
	}
	if r.messages[tail].has("tool_result") && r.messages[tail-1].has("tool_use") {
		tail--
	}
	snipped := refUser(fmt.Sprintf("[snipped %d messages from conversation middle]", tail-head))
	r.messages = slices.Concat(r.messages[:head], []refMessage{snipped}, r.messages[tail:])
}

func (r *reference) persist(b *refBlock) {
	path := ".task_outputs/tool-results/" + b.id + ".txt"
	r.files = append(r.files, path)
	b.text = fmt.Sprintf("<persisted-output>\nOutput too large (%.1fKB). Full output saved to: %s\n"+
		"Preview (first 2.0KB):\n%s\n</persisted-output>", float64(len(b.text))/1024, path, b.text[:2000])
}

// persistOutputs is what happens when tools answer.
func (r *reference) persistOutputs() {
	last := &r.messages[len(r.messages)-1]
	for i := range last.blocks {
		trigger := 50_000
		if r.tools[last.blocks[i].id] == "bash" {
			trigger = 30_000
		}
		if b := &last.blocks[i]; b.kind == "tool_result" && len(b.text) > trigger {
			r.persist(b)
		}
	}
}

func (r *reference) toolResultBudget() {
	last := &r.messages[len(r.messages)-1]
	total := func() (n int) {
		for _, b := range last.blocks {
			if b.kind == "tool_result" {
				n += len(b.text)
			}
		}
		return n
	}
	for total() > 200_000 {
		largest := &last.blocks[0]
		for i := range last.blocks {
			if len(last.blocks[i].text) > len(largest.text) {
				largest = &last.blocks[i]
			}
		}
		r.persist(largest)
	}
}

// rendered is the book's form of messages.
func rendered(list []refMessage) string {
	var parts []string
	for _, m := range list {
		if m.blocks == nil {
			parts = append(parts, fmt.Sprintf("[%s] %s", m.role, m.text))
		}
		for _, b := range m.blocks {
			switch {
			case b.kind == "text":
				parts = append(parts, fmt.Sprintf("[%s] %s", m.role, b.text))
			case b.kind == "tool_use":
				parts = append(parts, fmt.Sprintf("[assistant→tool] %s(%s)", b.tool, b.text))
			case b.failed:
				parts = append(parts, "[tool→error] "+b.text)
			default:
				parts = append(parts, "[tool→result] "+b.text)
			}
		}
	}
	return strings.Join(parts, "\n")
}

// dumps is json.dumps of messages.
func dumps(list []refMessage) string {
	str := func(s string) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s)
		return strings.TrimSuffix(b.String(), "\n")
	}
	var messages []string
	for _, m := range list {
		content := str(m.text)
		if m.blocks != nil {
			var blocks []string
			for _, b := range m.blocks {
				switch b.kind {
				case "text":
					blocks = append(blocks, `{"type": "text", "text": `+str(b.text)+`}`)
				case "tool_use":
					blocks = append(blocks, `{"type": "tool_use", "name": `+str(b.tool)+`, "input": `+b.text+`}`)
				default:
					failed := map[bool]string{true: `, "is_error": true`}[b.failed]
					blocks = append(blocks, `{"type": "tool_result", "content": `+str(b.text)+failed+`}`)
				}
			}
			content = "[" + strings.Join(blocks, ", ") + "]"
		}
		messages = append(messages, `{"role": "`+m.role+`", "content": `+content+`}`)
	}
	return "[" + strings.Join(messages, ", ") + "]"
}

func first(s string, n int) string { return s[:min(n, len(s))] }

// refPolicy is one text's pipeline.
type refPolicy struct {
	name    string
	answers func(r *reference)                              // when tools answer
	turn    func(r *reference)                              // before each request
	compact func(r *reference, summary string) (src string) // what the summarizer reads; then its text is in place
}

var refPolicies = []refPolicy{
	{
		name: "book",
		compact: func(r *reference, summary string) string {
			r.maskOlderResults(3)
			end := len(r.messages) - 6
			for r.messages[end].has("tool_result") {
				end--
			}
			old := r.messages[1:end]
			done := refUser(fmt.Sprintf("[session summary — %d turns replaced]\n%s", len(old), summary))
			r.messages = slices.Concat(r.messages[:1], []refMessage{done}, r.messages[end:])
			return "Summarize this conversation.\n\n" + rendered(old)
		},
	},
	{
		name: "threshold",
		compact: func(r *reference, summary string) string {
			cut := len(r.messages) - 8
			for r.messages[cut].has("tool_result") {
				cut--
			}
			old := r.messages[:cut]
			pair := []refMessage{
				refUser("<conversation_summary>\n" + summary + "\n</conversation_summary>"),
				{role: "assistant", text: "Understood. Continuing from that summary."},
			}
			if r.messages[cut].role == "assistant" {
				pair = append(pair, refUser("Continue."))
			}
			r.messages = append(pair, r.messages[cut:]...)
			return rendered(old) + "\n\nWrite the digest of everything above now."
		},
	},
	{
		name: "three-layer",
		turn: func(r *reference) { r.microCompact(100, "", "[Previous: used {tool_name}]") },
		compact: func(r *reference, summary string) string {
			r.microCompact(100, "", "[Previous: used {tool_name}]")
			src := first(dumps(r.messages), 80_000)
			r.messages = []refMessage{
				refUser("[Compressed]\n\n" + summary),
				{role: "assistant", text: "Understood. Continuing."},
				refUser("Continue."),
			}
			return src
		},
	},
	{
		name:    "four-lever",
		answers: (*reference).persistOutputs,
		turn:    func(r *reference) { r.microCompact(0, "read_file", "[Previous: used {tool_name}]") },
		compact: func(r *reference, summary string) string {
			r.microCompact(0, "read_file", "[Previous: used {tool_name}]")
			src := first(dumps(r.messages), 80_000)
			r.messages = []refMessage{refUser("[Compressed]\n\n" + summary)}
			return src
		},
	},
	{
		name:    "four-layer",
		answers: (*reference).toolResultBudget,
		turn: func(r *reference) {
			r.snipCompact()
			r.microCompact(120, "", "[Earlier tool result compacted. Re-run if needed.]")
		},
		compact: func(r *reference, summary string) string {
			r.snipCompact()
			r.microCompact(120, "", "[Earlier tool result compacted. Re-run if needed.]")
			src := dumps(r.messages)
			r.messages = []refMessage{refUser("[Compacted]\n\n" + summary)}
			return src
		},
	},
}

// What a summarizer reads is what the text's own pipeline would give it: the conversation as the
// layers before it left it, once, in the text's form.
func TestSummarizerReadsWhatTheTextGives(t *testing.T) {
	for _, p := range refPolicies {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", p.name, seed), func(t *testing.T) { p.compare(t, seed) })
		}
	}
}

func (p *refPolicy) compare(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 30))
	m := pleattest.Always("Of 1.go and 2.go in short.")
	row := model.Model{ID: "m", Window: 1_000_000}
	kept := []string{}
	s := open(t, store.NewMemory(), &pleat.Options{
		Policy: named(t, p.name), Model: row, Budget: fold.Budget{Window: 1_000_000, Red: fold.Share(0.9)},
		Digest:   digest.Options{Generator: m},
		KeepFile: func(name string, _ []byte) (string, error) { kept = append(kept, name); return name, nil },
	})
	r := &reference{tools: map[string]string{}, count: func(text string) int {
		return tokens.NewTokenizer(row, nil).CountBlock(transcript.Result("", text))
	}}
	say := func(m refMessage) {
		r.messages = append(r.messages, m)
		add(t, s, m.message())
		if m.has("tool_result") && p.answers != nil {
			p.answers(r)
		}
	}
	say(refUser("Find out why the build is red. <b>Never</b> touch legacy/."))
	for round := range 45 {
		p.round(rnd, r, round, say)
		if rnd.IntN(6) == 0 {
			say(refMessage{role: "assistant", text: fmt.Sprintf("Round %d is done.", round)})
			say(refUser(fmt.Sprintf("Then go on with %d, \"please\".", round)))
		}
		view(t, s)
		if p.turn != nil {
			p.turn(r)
		}
		if round%16 != 15 {
			continue
		}
		compact(t, s)
		want := p.compact(r, "Of 1.go and 2.go in short.")
		got := m.Requests()[len(m.Requests())-1].Messages[0].Text()
		if i := strings.Index(got, `[{"role": `); i >= 0 {
			got = strings.TrimSuffix(got[i:],
				"\n\nWrite the analysis and the summary now. Remember: text only, no tool calls.")
		}
		if got != want {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Fatalf("round %d: the summarizer reads %d characters, the text gives it %d; "+
				"they part at %d:\n%.200s\nand not\n%.200s", round, len(got), len(want), i, got[max(i-60, 0):],
				want[max(i-60, 0):])
		}
	}
	kept = slices.DeleteFunc(kept, func(f string) bool { return strings.HasPrefix(f, ".transcripts") })
	if d := difftest.Values(r.files, kept); len(r.files) > 0 && d != "" {
		t.Error(d)
	}
}

// round is an answer with calls, and their results.
func (p *refPolicy) round(rnd *rand.Rand, r *reference, round int, say func(refMessage)) {
	step := refBlock{kind: "text", text: fmt.Sprintf("Step %d: I look.", round)}
	answer := refMessage{role: "assistant", blocks: []refBlock{step}}
	results := refMessage{role: "user"}
	calls := 1 + rnd.IntN(3)
	for i := range calls {
		id, tool := fmt.Sprintf("call_%d_%d", round, i), []string{"bash", "query"}[rnd.IntN(2)]
		if p.name == "four-lever" && rnd.IntN(4) == 0 {
			tool = "read_file"
		}
		size := 150 + rnd.IntN(1_500)
		switch rnd.IntN(40) {
		case 0:
			size = 40_000
		case 1, 2:
			size = 75_000
		}
		if p.name == "four-layer" && round == 30 {
			calls, size = 3, 90_000
		}
		r.tools[id] = tool
		answer.blocks = append(answer.blocks, refBlock{
			kind: "tool_use", id: id, tool: tool,
			text: fmt.Sprintf(`{"path": "src/%d.go", "lines": [1, %d], "say": "a: \"b\", c\\"}`, round, i),
		})
		text := strings.Repeat(fmt.Sprintf("%d/%d: it \"is\" so\n", round, i), size/16+1)[:size]
		results.blocks = append(results.blocks,
			refBlock{kind: "tool_result", id: id, text: text, failed: rnd.IntN(9) == 0})
	}
	say(answer)
	say(results)
}

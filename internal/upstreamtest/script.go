package upstreamtest

import (
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

// request is what the script needs to know of a request, whatever its wire.
type request struct {
	model      string
	stream     bool
	thinks     bool // a Messages request that asks for thinking
	usage      bool // a Chat request that asks for usage in the stream
	tools      []model.Tool
	messages   []transcript.Message
	body       string
	tokens     int
	violations []string
}

// call is one tool call of an answer.
type call struct {
	id, name, input string
	namespace       string // of the tool, where the wire has such
	script          bool   // the input is no JSON but a script: Codex's exec
}

// answer is what the model says.
type answer struct {
	id, model string
	thinking  string
	signature string
	text      string
	calls     []call
	prompt    int // tokens: input, read from the cache and written to it
	input     int
	read      int
	written   int
	recalled  string
}

var (
	shellID    = regexp.MustCompile(`^call_(\d+)_from_upstream`)
	doneLine   = regexp.MustCompile(`step-(\d+)-done`)
	handleCall = regexp.MustCompile(`unfold\(\\?"([a-z0-9]+)\\?"\)`)
	valueLine  = regexp.MustCompile(`step (\d+) line 13 value (\d+)`)
)

// step is how many commands are done: what they print says so, or that it is folded.
func (r *request) step() int {
	most := 0
	seen := func(match []string) {
		if n, err := strconv.Atoi(match[1]); err == nil {
			most = max(most, n)
		}
	}
	for _, m := range doneLine.FindAllStringSubmatch(r.body, -1) {
		seen(m)
	}
	for res := range results(r.messages...) {
		if id := shellID.FindStringSubmatch(res.CallID); id != nil && showsFold.MatchString(res.Parts.Text()) {
			seen(id)
		}
	}
	return most
}

// results yields the tool results in messages.
func results(msgs ...transcript.Message) iter.Seq[transcript.ToolResult] {
	return func(yield func(transcript.ToolResult) bool) {
		for _, m := range msgs {
			for _, b := range m.Blocks().All() {
				if r, ok := b.(transcript.ToolResult); ok && !yield(r) {
					return
				}
			}
		}
	}
}

// next is the answer to a request.
func (s *Server) next(r *request) answer {
	step, calls := r.step(), s.o.Calls
	if r.side() {
		return answer{text: r.summarize(step)}
	}
	if r.isAgent() {
		calls = s.o.Agent
	}
	a := answer{recalled: r.recalled()}
	if s.o.Thinking || r.thinks {
		a.thinking = fmt.Sprintf("After step %d I look at what is next.", step)
	}
	if n := s.recallsOf(r); s.o.RecallAt > 0 && step >= s.o.RecallAt &&
		(n < s.o.Recalls || s.o.Endless && !strings.Contains(r.body, GoOn)) {
		if c, ok := r.recall(n); ok {
			c.id = fmt.Sprintf("call_recall_%d", s.asks.Add(1))
			a.calls = append(a.calls, c)
			if !s.o.Beside {
				return a
			}
		}
	}
	if c, ok := r.serverTool(s.o); ok {
		a.calls = append(a.calls, c)
		return a
	}
	switch {
	case step >= calls && r.isAgent():
		a.text = "The sub-agent is done."
		return a
	case step >= calls:
		a.text = fmt.Sprintf("All %d steps are done.", step)
		return a
	case s.o.PauseAt > 0 && step >= s.o.PauseAt && !strings.Contains(r.body, GoOn):
		a.text = fmt.Sprintf("I wait; the last command said step-%d-done.", step)
		return a
	}
	if c, ok := s.subAgent(r, step); ok {
		a.calls = append(a.calls, c)
		return a
	}
	a.text = fmt.Sprintf("Step %d is done, on with the next.", step)
	for n := step + 1; n <= min(step+s.o.Parallel, calls); n++ {
		c, err := r.shell(n, s.o)
		if err != nil {
			return answer{text: err.Error()}
		}
		a.calls = append(a.calls, c)
	}
	return a
}

// isRecall reports whether an id is that of a recall call. Where calls have no ids, it is known
// by its name.
func isRecall(id string) bool {
	return strings.HasPrefix(id, "call_recall_") || id == recall.ToolUnfold
}

// recall asks for line 13 of the first folded output, or, where the client has cut its
// conversation, for that of the first command, and later for the next outputs as a whole. Before
// it, n recalls were made.
func (r *request) recall(n int) (call, bool) {
	if r.offered() && compacted.in(r.body) {
		input, _ := json.Marshal(map[string][]string{"queries": {"step 1 line 13 value"}})
		return call{name: recall.ToolSearch, input: string(input)}, true
	}
	handles := r.handles()
	if !r.offered() || len(handles) == 0 {
		return call{}, false
	}
	args := map[string]string{"handle": handles[n%len(handles)]}
	if n == 0 {
		args["pattern"] = "line 13 value"
	}
	input, _ := json.Marshal(args)
	return call{name: recall.ToolUnfold, input: string(input)}, true
}

// handles are those of the folded outputs.
func (r *request) handles() (out []string) {
	for _, m := range handleCall.FindAllStringSubmatch(r.body, -1) {
		if m[1] != "handle" { // a page's explanation of how it is done
			out = append(out, m[1])
		}
	}
	return out
}

// offered reports whether the recall tools are there.
func (r *request) offered() bool {
	_, ok := r.tool(recall.ToolUnfold)
	return ok
}

// tool is the tool with the first of the names that one has.
func (r *request) tool(names ...string) (model.Tool, bool) {
	for _, name := range names {
		if i := slices.IndexFunc(r.tools, func(t model.Tool) bool { return t.Name == name }); i >= 0 {
			return r.tools[i], true
		}
	}
	return model.Tool{}, false
}

// recalled checks the answer to the recall call, if the request has it.
func (r *request) recalled() string {
	for res := range results(r.messages...) {
		if !isRecall(res.CallID) {
			continue
		}
		text := res.Parts.Text()
		v := valueLine.FindStringSubmatch(text)
		if v == nil {
			return "no such line in: " + text[:min(len(text), 200)]
		}
		step, _ := strconv.Atoi(v[1])
		if want := strconv.Itoa(value(step, 13)); v[2] != want {
			return "wrong value: " + v[0] + ", want " + want
		}
		return "exact"
	}
	return ""
}

const serverID, findID = "call_server_1", "call_find_1"

// serverTool calls the tool of an MCP server, if it is offered and was not called yet. A
// client that does not show all tools at first has one to find others; it is called before.
func (r *request) serverTool(o Options) (call, bool) {
	if o.Tool == "" || strings.Contains(r.body, serverID) {
		return call{}, false
	}
	space := "mcp__" + o.Server
	c := call{id: serverID, name: space + "__" + o.Tool, input: o.Input}
	if _, ok := r.tool(c.name); ok {
		return c, true
	}
	if _, ok := r.tool("ToolSearch"); ok && !strings.Contains(r.body, findID) {
		return call{id: findID, name: "ToolSearch", input: `{"query":"select:` + c.name + `","max_results":5}`}, true
	}
	c.name, c.namespace = o.Tool, space // as Codex has it
	return c, strings.Contains(r.body, `"type":"namespace","name":"`+space+`"`)
}

// served is what the MCP server answered, if the request has it.
func (r *request) served() string {
	for res := range results(r.messages...) {
		if res.CallID == serverID {
			return res.Parts.Text()
		}
	}
	return ""
}

func value(step, line int) int { return (step*7919 + line*104729) % 1000003 }

// shell asks for command n with the client's own shell tool. Where it has been asked for and
// its end is not in the request, it is another call: Qwen Code, whose shell tool sometimes
// says that there was no output, ends a run that repeats a call.
func (r *request) shell(n int, o Options) (call, error) {
	lines := max(o.Bytes/len("step 12 line 345 value 678901 "), 14)
	command := fmt.Sprintf(`awk 'BEGIN{for(i=0;i<%d;i++) `+
		`printf "step %d line %%d value %%d\n", i, (%d*7919+i*104729)%%1000003; print "step" "-%d-done"}'`, lines, n, n,
		n)
	if o.Files {
		command += fmt.Sprintf(" && echo %d > made-%d.txt", n, n)
	}
	if host, port, _ := strings.Cut(o.Hold, ":"); n == o.HoldAt && !strings.Contains(r.body, GoOn) {
		command = fmt.Sprintf("bash -c 'read -u 3 3<>/dev/tcp/%s/%s'; ", host, port) + command
	}
	id := fmt.Sprintf("call_%03d_from_upstream", n)
	for again := 2; strings.Contains(r.body, id); again++ {
		id = fmt.Sprintf("call_%03d_from_upstream_%d", n, again)
		command += " #"
	}
	if t, ok := r.tool("Bash", "bash", "exec_command", "shell", "run_shell_command", "execute_command",
		"run_commands"); ok {
		input, err := fill(t.Schema, map[string]string{
			"command": command, "cmd": command, "script": command, "commands": command,
		})
		return call{id: id, name: t.Name, input: input}, err
	}
	if t, ok := r.tool("exec"); ok && t.Schema == "" {
		args, err := json.Marshal(map[string]any{"cmd": command, "max_output_tokens": 50_000})
		script := "// @exec: {\"max_output_tokens\": 50000}\nconst r = await tools.exec_command(" + string(args) +
			");\ntext(r.output ?? r);"
		return call{id: id, name: "exec", input: script, script: true}, err
	}
	return call{}, fmt.Errorf("the client offers no shell tool")
}

// fill makes arguments by a tool's schema: those of the given ones that it has, and something for the others
// that it demands.
func fill(schema string, given map[string]string) (string, error) {
	var s struct {
		Properties map[string]struct {
			Type string
			Enum []string
		}
		Required []string
	}
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		return "", fmt.Errorf("read tool schema: %w", err)
	}
	args := make(map[string]any)
	for _, name := range s.Required {
		switch s.Properties[name].Type {
		case "string":
			args[name] = "a step of the script"
		case "array":
			args[name] = []string{}
		case "integer", "number":
			args[name] = 10_000
		case "boolean":
			args[name] = false
		}
	}
	for name, text := range given {
		switch p, ok := s.Properties[name]; {
		case !ok:
		case p.Type == "array":
			args[name] = []string{"bash", "-c", text}
		case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
			args[name] = p.Enum[0]
		default:
			args[name] = text
		}
	}
	if _, ok := s.Properties["max_output_tokens"]; ok {
		args["max_output_tokens"] = 50_000
	}
	out, err := json.Marshal(args)
	return string(out), err
}

package userwords

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// TaskState is an agent's task list, as data. The newest list wins.
type TaskState struct {
	Items       []TaskItem `json:"items,omitempty"`
	Message     int        `json:"message"`                // the newest change to the list, if Tool is not empty
	Tool        string     `json:"tool,omitempty"`         // tool that made it
	Explanation string     `json:"explanation,omitempty"`  // what the agent said about it
	Plan        string     `json:"plan,omitempty"`         // plan in prose, as it was put before the user
	PlanMessage int        `json:"plan_message,omitempty"` // the message that Plan is from
}

// TaskItem is one entry of a task list.
type TaskItem struct {
	ID     string     `json:"id,omitempty"`
	Text   string     `json:"text"`
	Status TaskStatus `json:"status"`

	call string // call that made it, until its result gives the id
}

// TaskStatus is the progress of a task.
type TaskStatus string

// The states of a task.
const (
	TaskOpen       TaskStatus = "open"
	TaskInProgress TaskStatus = "in_progress"
	TaskDone       TaskStatus = "done"
	TaskCancelled  TaskStatus = "cancelled"
)

// taskReader follows the calls that write task lists. It knows the tools of Claude Code
// (TodoWrite; TaskCreate and TaskUpdate, one task at a time; ExitPlanMode), Codex
// (update_plan), opencode (todowrite), Gemini (write_todos), VS Code (manage_todo_list),
// Copilot and Roo (update_todo, update_todo_list: a Markdown check list) and pleat's own
// todo_write.
type taskReader struct {
	state  TaskState
	before TaskState // state before the call that waits for its result
	wait   string    // id of that call: if it fails, it did nothing
}

// maxTaskInput bounds what is parsed: no list is that long.
const maxTaskInput = 1 << 20

func (t *taskReader) call(i int, b transcript.ToolCall) {
	if client.Of(b.Name) != client.Todo || b.Input.Size() > maxTaskInput {
		return
	}
	var in taskInput
	if json.Unmarshal([]byte(b.Input.String()), &in) != nil {
		return
	}
	next := t.state
	switch client.Plain(b.Name) {
	case "exitplanmode":
		if in.Plan == nil && in.Summary == "" {
			return
		}
		var plan string
		if json.Unmarshal(in.Plan, &plan) != nil || plan == "" {
			plan = in.Summary
		}
		next.Plan, next.PlanMessage = plan, i
	case "taskcreate":
		next.Items = append(slices.Clip(next.Items), TaskItem{Text: in.Subject, Status: TaskOpen, call: b.ID})
		next.Message, next.Tool, next.Explanation = i, b.Name, ""
	case "taskupdate":
		items, ok := updateTask(next.Items, in)
		if !ok {
			return
		}
		next.Items, next.Message, next.Tool = items, i, b.Name
	default:
		items, ok := in.list()
		if !ok {
			return
		}
		next.Items, next.Message, next.Tool, next.Explanation = items, i, b.Name, in.Explanation
	}
	if t.wait == "" { // of parallel calls the state before the first is kept
		t.before = t.state
	}
	t.state, t.wait = next, b.ID
}

// result gives new tasks their ids and takes back what a failed call did.
func (t *taskReader) result(r transcript.ToolResult) {
	for k := range t.state.Items {
		if it := &t.state.Items[k]; !r.Error && it.call != "" && it.call == r.CallID {
			it.ID, it.call = createdID(r.Text()), ""
		}
	}
	if t.wait != "" && r.CallID == t.wait {
		if r.Error {
			t.state = t.before
		}
		t.wait = ""
	}
}

// taskInput is the union of the tools' arguments.
type taskInput struct {
	Todos       json.RawMessage `json:"todos"` // list, or a Markdown check list
	TodoList    json.RawMessage `json:"todoList"`
	Items       json.RawMessage `json:"items"`
	Plan        json.RawMessage `json:"plan"` // list of steps, or prose
	Summary     string          `json:"summary"`
	Explanation string          `json:"explanation"`
	Subject     string          `json:"subject"`
	TaskID      flexible        `json:"taskId"`
	Status      string          `json:"status"`
}

type taskEntry struct {
	ID          flexible `json:"id"`
	Content     string   `json:"content"`
	Step        string   `json:"step"`
	Title       string   `json:"title"`
	Text        string   `json:"text"`
	Task        string   `json:"task"`
	Subject     string   `json:"subject"`
	Description string   `json:"description"`
	Status      string   `json:"status"`
}

// flexible is a string that some clients write as a number.
type flexible string

func (f *flexible) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*f = flexible(s)
	return nil
}

// list reads the tasks wherever the tool puts them; ok is false if there is no list.
func (in taskInput) list() (items []TaskItem, ok bool) {
	for _, raw := range []json.RawMessage{in.Todos, in.TodoList, in.Plan, in.Items} {
		if len(raw) == 0 {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			if raw[0] != 'n' { // null
				return checkList(text), true
			}
			continue
		}
		var entries []taskEntry
		if json.Unmarshal(raw, &entries) != nil {
			continue
		}
		for _, e := range entries {
			it := TaskItem{ID: string(e.ID), Status: taskStatus(e.Status)}
			it.Text = cmp.Or(e.Content, e.Step, e.Title, e.Text, e.Task, e.Subject, e.Description)
			if it.Text != "" {
				items = append(items, it)
			}
		}
		return items, true
	}
	return nil, false
}

// taskStatus reads the clients' words for a state. What is not known is open.
func taskStatus(s string) TaskStatus {
	switch text.PlainName(strings.ReplaceAll(s, " ", "")) {
	case "inprogress", "active", "doing", "started", "running":
		return TaskInProgress
	case "completed", "complete", "done", "finished", "x":
		return TaskDone
	case "cancelled", "canceled", "deleted", "skipped", "abandoned":
		return TaskCancelled
	}
	return TaskOpen
}

// checkList reads a Markdown list of "- [ ] …", "- [x] …", "- [-] …" or "- [~] …".
func checkList(text string) []TaskItem {
	var items []TaskItem
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*+ 0123456789.")
		if len(line) < 4 || line[0] != '[' || line[2] != ']' {
			continue
		}
		it := TaskItem{Text: strings.TrimSpace(line[3:]), Status: TaskOpen}
		switch line[1] {
		case 'x', 'X':
			it.Status = TaskDone
		case '-', '~', '>', '/':
			it.Status = TaskInProgress
		}
		items = append(items, it)
	}
	return items
}

// updateTask changes one task; the list is copied, because the old one may come back.
func updateTask(list []TaskItem, in taskInput) ([]TaskItem, bool) {
	k := slices.IndexFunc(list, func(it TaskItem) bool { return it.ID == string(in.TaskID) })
	if k < 0 || in.TaskID == "" {
		return nil, false
	}
	items := slices.Clone(list)
	if in.Status != "" {
		items[k].Status = taskStatus(in.Status)
	}
	items[k].Text = cmp.Or(in.Subject, items[k].Text)
	return items, true
}

// createdID reads the id out of "Task #3 created successfully: …".
func createdID(result string) string {
	_, id, _ := strings.Cut(result, "#")
	n := 0
	for n < len(id) && (text.IsLetterByte(id[n]) || text.IsDigitByte(id[n])) {
		n++
	}
	return id[:n]
}

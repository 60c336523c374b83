package userwords

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/jsonspan"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// TaskState is an agent's task list, as data. The newest list wins.
type TaskState struct {
	Items       []TaskItem `json:"items,omitempty"`
	Message     int        `json:"message"`                // the newest change to the list, if Tool is not empty
	Tool        string     `json:"tool,omitempty"`         // tool that made it
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
	in := jsonspan.Value(b.Input.String())
	if in.Valid(jsonspan.Object) != nil {
		return
	}
	next := t.state
	switch client.Plain(b.Name) {
	case "exitplanmode":
		plan := firstText(in, "plan", "summary")
		if plan == "" {
			return
		}
		next.Plan, next.PlanMessage = plan, i
	case "taskcreate":
		made := TaskItem{Text: in.Get("subject").Text(), Status: TaskOpen, call: b.ID}
		next.Items = append(slices.Clip(next.Items), made)
		next.Message, next.Tool = i, b.Name
	case "taskupdate":
		items, ok := updateTask(next.Items, in)
		if !ok {
			return
		}
		next.Items, next.Message, next.Tool = items, i, b.Name
	default:
		items, ok := taskList(in)
		if !ok {
			return
		}
		next.Items, next.Message, next.Tool = items, i, b.Name
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

// firstText is the text of the first of the members that has one.
func firstText(v jsonspan.Value, names ...string) string {
	for _, name := range names {
		if s := v.Get(name).Text(); s != "" {
			return s
		}
	}
	return ""
}

// idOf reads an id, which some clients write as a number.
func idOf(v jsonspan.Value) string { return cmp.Or(v.Text(), string(v)) }

// taskList reads the tasks, or a Markdown check list of them, wherever the tool puts them; ok is false if there is
// no list.
func taskList(in jsonspan.Value) (items []TaskItem, ok bool) {
	for _, name := range []string{"todos", "todoList", "plan", "items"} {
		switch list := in.Get(name); list.Kind() {
		case jsonspan.String:
			return checkList(list.Text()), true
		case jsonspan.Array:
			for elem := range list.Elements() {
				e := jsonspan.Value(elem.Of(list))
				it := TaskItem{ID: idOf(e.Get("id")), Status: taskStatus(e.Get("status").Text())}
				it.Text = firstText(e, "content", "step", "title", "text", "task", "subject", "description")
				if it.Text != "" {
					items = append(items, it)
				}
			}
			return items, true
		}
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
func updateTask(list []TaskItem, in jsonspan.Value) ([]TaskItem, bool) {
	id := idOf(in.Get("taskId"))
	k := slices.IndexFunc(list, func(it TaskItem) bool { return it.ID == id })
	if k < 0 || id == "" {
		return nil, false
	}
	items := slices.Clone(list)
	if status := in.Get("status").Text(); status != "" {
		items[k].Status = taskStatus(status)
	}
	items[k].Text = cmp.Or(in.Get("subject").Text(), items[k].Text)
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

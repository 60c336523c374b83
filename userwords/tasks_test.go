package userwords

import (
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

func TestTaskLists(t *testing.T) {
	want := []TaskItem{
		{Text: "read", Status: TaskDone},
		{Text: "write", Status: TaskInProgress},
		{Text: "test", Status: TaskOpen},
	}
	tests := []struct{ tool, input string }{
		{
			"TodoWrite",
			`{"todos":[{"content":"read","status":"completed","activeForm":"Reading"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`,
		},
		{
			"todowrite",
			`{"todos":[{"content":"read","status":"completed","priority":"high"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`,
		},
		{
			"todo_write",
			`{"todos":[{"content":"read","status":"done"},{"content":"write","status":"in_progress"},{"content":"test","status":"open"}]}`,
		},
		{
			"update_plan",
			`{"explanation":"why","plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"},{"step":"test","status":"pending"}]}`,
		},
		{
			"write_todos",
			`{"todos":[{"description":"read","status":"completed"},{"description":"write","status":"in_progress"},{"description":"test","status":"pending"}]}`,
		},
		{
			"manage_todo_list",
			`{"todoList":[{"id":1,"title":"read","description":"x","status":"completed"},{"id":2,"title":"write","status":"in-progress"},{"id":3,"title":"test","status":"not-started"}]}`,
		},
		{"update_todo", `{"todos":"- [x] read\n- [-] write\n- [ ] test"}`},
		{"update_todo_list", `{"todos":"[x] read\n[~] write\n[ ] test\n"}`},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			got := heard(transcript.User("go"), transcript.Assistant(transcript.Call("1", tt.tool, tt.input))).Tasks()
			items := seen(got.Items)
			for i := range items {
				items[i].ID = ""
			}
			difftest.Equal(t, want, items)
			if got.Message != 1 || got.Tool != tt.tool {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTasksOneByOne(t *testing.T) {
	w := heard(
		transcript.Assistant(
			transcript.Call("a", "TaskCreate", `{"subject":"read"}`),
			transcript.Call("b", "TaskCreate", `{"subject":"write"}`),
		),
		transcript.Results(
			transcript.Result("a", "Task #1 created successfully: read"),
			transcript.Result("b", "Task #2 created successfully: write"),
		),
		transcript.Assistant(transcript.Call("c", "TaskUpdate", `{"taskId":"1","status":"completed"}`)),
		transcript.Results(transcript.Result("c", "Updated task #1 status")),
		transcript.Assistant(transcript.Call("d", "TaskUpdate", `{"taskId":"2","status":"deleted"}`)),
		transcript.Results(transcript.ErrorResult("d", "no such task")),
	)
	want := []TaskItem{{ID: "1", Text: "read", Status: TaskDone}, {ID: "2", Text: "write", Status: TaskOpen}}
	difftest.Equal(t, want, seen(w.Tasks().Items))
}

// seen is what other packages see of items.
func seen(items []TaskItem) []TaskItem {
	items = slices.Clone(items)
	for i := range items {
		items[i].call = ""
	}
	return items
}

func TestTasksThatDoNotCount(t *testing.T) {
	w := heard(
		transcript.Assistant(transcript.Call("1", "TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`)),
		transcript.Results(transcript.Result("1", "ok")),
		transcript.Assistant(transcript.Call("2", "TodoWrite", `{"todos":[]}`)),
		transcript.Results(transcript.ErrorResult("2", "InputValidationError")),
		transcript.Assistant(transcript.Call("3", "TodoWrite", `{"todos":`), transcript.Call("4", "TodoRead", `{"todos":[]}`)),
	)
	if n := len(w.Tasks().Items); n != 1 {
		t.Errorf("%d tasks, want the one that was written", n)
	}
	w.Add(5, transcript.Assistant(transcript.Call("5", "ExitPlanMode", `{"plan":"1. a\n2. b"}`)))
	if got := w.Tasks(); got.Plan != "1. a\n2. b" || got.PlanMessage != 5 || len(got.Items) != 1 {
		t.Errorf("got %+v", got)
	}
}

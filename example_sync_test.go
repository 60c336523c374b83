package pleat_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// A loop that keeps its own history: Sync takes in what is new of it, and Messages returns what
// to send in its place. Here the model is a function that reads twenty files, and the window is
// small.
func ExampleSession_Sync() {
	ctx, asked := context.Background(), 0
	ask := func([]pleat.Message) pleat.Message {
		if asked++; asked > 20 {
			return pleat.Assistant(pleat.Say("Found it."))
		}
		return pleat.Assistant(pleat.Call(fmt.Sprint("call_", asked), "read_file", fmt.Sprintf(`{"path":"%d.go"}`, asked)))
	}
	run := func(s *pleat.Session, calls []pleat.ToolCall) (results []pleat.ToolResult) {
		for _, call := range calls {
			r, ok := s.Answer(ctx, call)
			if !ok { // none of the recall tools
				r = pleat.Result(call.ID, strings.Repeat("some line of the file\n", 200))
			}
			results = append(results, r)
		}
		return results
	}
	options := &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}

	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, options)
	if err != nil {
		log.Fatal(err)
	}
	history := []pleat.Message{pleat.User("Find the bug. Never touch legacy/.")}
	for {
		if s, err = s.Sync(ctx, history); err != nil {
			log.Fatal(err)
		}
		msgs, err := s.Messages(ctx) // what to send in place of the history
		if err != nil {
			log.Fatal(err)
		}
		reply := ask(msgs)
		history = append(history, reply)
		if len(reply.Calls()) == 0 {
			break
		}
		history = append(history, pleat.Results(run(s, reply.Calls())...))
	}
	snap := s.Snapshot()
	fmt.Println("whole:", snap.Whole > snap.Limits.Max, "shown:", snap.Tokens <= snap.Limits.Max)
	// Output: whole: true shown: true
}

// TestStartLibrary: the loop in docs/start.md is the one of ExampleSession_Sync.
func TestStartLibrary(t *testing.T) {
	doc, err := os.ReadFile("docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_sync_test.go")
	if err != nil {
		t.Fatal(err)
	}
	const first = "s, err := pleat.OpenSession("
	_, loop, _ := strings.Cut(string(doc), first)
	loop, _, ok := strings.Cut(loop, "```")
	if !ok || !strings.Contains(string(example), first+strings.ReplaceAll(strings.TrimSpace(loop), "\n", "\n\t")) {
		t.Errorf("docs/start.md has another loop:\n%s", loop)
	}
}

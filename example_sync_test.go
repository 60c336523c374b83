package pleat_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// A loop that keeps its own history: Sync takes in what is new of it, and Messages returns what
// to send in its place. Here the model is a function that reads twenty files, and takes less than
// the window says.
func ExampleSession_Sync() {
	ctx, asked := context.Background(), 0
	ask := func(msgs []pleat.Message) ([]pleat.Message, error) {
		if n := countAll(msgs); n > 5_000 {
			return nil, &pleat.APIError{Kind: model.ErrorTooLong, Used: n, Limit: 5_000}
		}
		if asked++; asked > 20 {
			return []pleat.Message{pleat.Assistant(pleat.Say("Found it."))}, nil
		}
		call := pleat.Call(fmt.Sprint("call_", asked), "read_file", fmt.Sprintf(`{"path":"%d.go"}`, asked))
		return []pleat.Message{pleat.Assistant(call)}, nil
	}
	run := func(pleat.ToolCall) string { return strings.Repeat("some line of the file\n", 200) }
	options := &pleat.Options{Budget: pleat.Budget{Window: 8_000}, Tools: pleat.RecallTools()}

	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, options)
	if err != nil {
		log.Fatal(err)
	}
	history := []pleat.Message{pleat.User("Find the bug. Never touch legacy/.")}
	for {
		if _, err := s.Sync(ctx, history); err != nil {
			log.Fatal(err)
		}
		msgs, err := s.Messages(ctx) // what to send in place of the history
		if err != nil {
			log.Fatal(err)
		}
		reply, err := ask(msgs) // one message; with a Responses client one for each item
		if refused := new(pleat.APIError); errors.As(err, &refused) && refused.Overflow() {
			if _, err = s.Refused(ctx, refused); err == nil {
				continue // it folded more
			}
		}
		if err != nil {
			log.Fatal(err)
		}
		history = append(history, reply...)
		var calls []pleat.ToolCall
		for _, m := range reply {
			calls = append(calls, m.Calls()...)
		}
		if len(calls) == 0 {
			if _, err := s.Sync(ctx, history); err != nil { // it has the answer, too
				log.Fatal(err)
			}
			break
		}
		results := make([]pleat.ToolResult, len(calls))
		var tools sync.WaitGroup
		for i, call := range calls {
			tools.Go(func() {
				var recalled bool
				if results[i], recalled = s.Answer(ctx, call); !recalled {
					results[i] = pleat.Result(call.ID, run(call))
				}
			})
		}
		tools.Wait()
		history = append(history, pleat.Results(results...))
	}
	snap := s.Snapshot()
	fmt.Println("whole:", snap.Whole > snap.Limits.Max, "shown:", snap.Tokens <= snap.Limits.Max)
	// Output: whole: true shown: true
}

// TestStartLibrary: the loop in docs/start.md is the one of ExampleSession_Sync.
func TestStartLibrary(t *testing.T) {
	doc, err := os.ReadFile("docs/start.md")
	must(t, err)
	example, err := os.ReadFile("example_sync_test.go")
	must(t, err)
	const first = "s, err := pleat.OpenSession("
	_, loop, _ := strings.Cut(string(doc), first)
	loop, _, ok := strings.Cut(loop, "```")
	if !ok || !strings.Contains(string(example), first+strings.ReplaceAll(strings.TrimSpace(loop), "\n", "\n\t")) {
		t.Errorf("docs/start.md has another loop:\n%s", loop)
	}
}

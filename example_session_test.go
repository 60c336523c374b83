package pleat_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// reading is a session in which an agent read some files.
func reading(o *pleat.Options) *pleat.Session {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "example"}, o)
	if err != nil {
		log.Fatal(err)
	}
	msgs := []transcript.Message{transcript.User("Find the slow query. Never touch legacy/.")}
	for i := range 12 {
		id := fmt.Sprint("call_", i)
		msgs = append(msgs,
			transcript.Assistant(transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"db/part%d.go"}`, i))),
			transcript.Results(transcript.Result(id, strings.Repeat(fmt.Sprintf("// part %d of the database layer\n", i), 60))))
	}
	if err := s.Append(ctx, msgs...); err != nil {
		log.Fatal(err)
	}
	return s
}

// An agent's loop: send what Messages returns, append the answer, answer its calls. Here the
// model is a function that reads two files, and the window is small.
func ExampleSession_Messages() {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, &pleat.Options{
		Budget: pleat.Budget{Window: 8_000},
		Tools:  append([]pleat.Tool{{Name: "read_file"}}, pleat.RecallTools()...),
	})
	if err == nil {
		err = s.Append(ctx, pleat.User("Find the bug. Never touch legacy/."))
	}
	asked := 0
	ask := func(msgs []pleat.Message) pleat.Message {
		if asked++; asked > 20 {
			return pleat.Assistant(pleat.Say("Found it."))
		}
		return pleat.Assistant(
			pleat.Call(fmt.Sprint("call_", asked), "read_file", fmt.Sprintf(`{"path":"part%d.go"}`, asked)),
		)
	}
	for err == nil {
		var msgs []pleat.Message
		if msgs, err = s.Messages(ctx); err != nil {
			break
		}
		reply := ask(msgs)
		if err = s.Append(ctx, reply); err != nil {
			break
		}
		var results []pleat.ToolResult
		for _, call := range reply.Calls() {
			r, ok := s.Answer(ctx, call)
			if !ok {
				r = pleat.Result(call.ID, strings.Repeat("some line of the file\n", 200))
			}
			results = append(results, r)
		}
		if len(results) == 0 {
			break
		}
		err = s.Append(ctx, pleat.Results(results...))
	}
	if err != nil {
		log.Fatal(err)
	}
	snap := s.Snapshot()
	fmt.Println("whole:", snap.Whole > snap.Limits.Max, "shown:", snap.Tokens <= snap.Limits.Max)
	// Output: whole: true shown: true
}

// A session stores what is said and gives the view to send. Here the window is so small
// that the oldest turns are folded.
func ExampleSession() {
	ctx := context.Background()
	s := reading(&pleat.Options{Budget: fold.Budget{Window: 6_000}})
	v, err := s.View(ctx, pleat.Turn{})
	if err != nil {
		log.Fatal(err)
	}
	msgs, err := s.Resolve(ctx, v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("said:", s.Len(), "messages; the view is shorter:", len(msgs) < s.Len())
	fmt.Println("first:", msgs[0].Text())
	fmt.Println("fits:", s.Snapshot().Tokens <= s.Snapshot().Limits.Max)
	// Output:
	// said: 25 messages; the view is shorter: true
	// first: Find the slow query. Never touch legacy/.
	// fits: true
}

// What was folded comes back byte for byte, whole or in part.
func ExampleSession_Unfold() {
	ctx := context.Background()
	s := reading(nil)
	call := s.Ledger(ledger.Filter{Path: "db/part3.go"})[0]
	u, err := s.Unfold(ctx, recall.UnfoldRequest{Handle: call.Handle, From: 59})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(u.What, "has", u.Lines, "lines; the last two:")
	fmt.Print(u.Content())
	// Output:
	// result of read_file db/part3.go has 60 lines; the last two:
	// // part 3 of the database layer
	// // part 3 of the database layer
}

// A plan says what compacting would do, and does nothing.
func ExampleSession_Plan() {
	s := reading(nil)
	p, err := s.Plan(context.Background(), "the query")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("makes room:", p.After < p.Before)
	fmt.Println("still whole:", s.Snapshot().Epoch == 0)
	// Output:
	// makes room: true
	// still whole: true
}

// Compacting can be taken back: nothing was gone.
func ExampleSession_Undo() {
	ctx := context.Background()
	s := reading(nil)
	before := s.Snapshot().Tokens
	if _, err := s.Compact(ctx, "the query"); err != nil {
		log.Fatal(err)
	}
	fmt.Println("smaller:", s.Snapshot().Tokens < before)
	if err := s.Undo(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("as before:", s.Snapshot().Tokens == before)
	// Output:
	// smaller: true
	// as before: true
}

func ExampleSession_Search() {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "example"}, nil)
	if err != nil {
		panic(err)
	}
	err = s.Append(ctx,
		transcript.User("What is the upload limit?"),
		transcript.Assistant(transcript.Call("1", "read_file", `{"path":"server.toml"}`)),
		transcript.Results(transcript.Result("1", "port = 8081\nuploadSizeLimit = 1048576\n")))
	if err != nil {
		panic(err)
	}
	found, err := s.Search(ctx, recall.SearchRequest{Queries: []string{"size limit"}, Hits: 1})
	if err != nil {
		panic(err)
	}
	fmt.Print(found.Text())
	// Output:
	// [pleat search "size limit": 1 hit, best first]
	// [ka1stfrt: result of read_file server.toml, call 1; you can see it]
	// 1	port = 8081
	// 2	uploadSizeLimit = 1048576
}

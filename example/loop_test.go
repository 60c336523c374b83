package example_test

import (
	"context"
	"fmt"
	"log"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// A program with a loop, a tool named search and messages of its own keeps them as its
// framework does, and hands over all of them at each turn. Here the framework stores back what
// it was told to send, as some do.
func Example_loop() {
	ctx := context.Background()
	tools := pleat.RecallTools()
	for i := range tools {
		tools[i].Name = "pleat_" + tools[i].Name // it has a search already
	}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, &pleat.Options{
		Budget: pleat.Budget{Window: 8_000},
		Tools:  append(tools, pleat.Tool{Name: "search", Description: "Searches the web."}),
	})
	if err != nil {
		log.Fatal(err)
	}
	history, searched := []pleat.Message{pleat.User("Compare forty shops.")}, 0
	for turn := range 40 {
		if _, err = s.Sync(ctx, history); err != nil {
			log.Fatal(err)
		}
		if history, err = s.Messages(ctx); err != nil { // what goes to the model
			log.Fatal(err)
		}
		call := pleat.Call(fmt.Sprint("call_", turn), "search", fmt.Sprintf(`{"queries":["shop %d"]}`, turn))
		result, ours := s.Answer(ctx, call)
		if !ours {
			searched++
			result = pleat.Result(call.ID, strings.Repeat(fmt.Sprintf("Shop %d sells everything.\n", turn), 60))
		}
		history = append(history, pleat.Assistant(call), pleat.Results(result))
	}
	back, ours := s.Answer(ctx, pleat.Call("last", "pleat_search", `{"queries":["shop 3 sells"]}`))
	fmt.Println("searched", searched, "times in session", s.Key().Session)
	fmt.Println("of", s.Len(), "messages the model sees fewer:", len(history) < s.Len())
	fmt.Println("found again:", ours && strings.Contains(back.Text(), "Shop 3 sells everything."))
	fmt.Println(s.Close())
	// Output:
	// searched 40 times in session work
	// of 79 messages the model sees fewer: true
	// found again: true
	// <nil>
}

// TestNoGoroutineIsLeft leaves and closes sessions while digests are being written.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	waits := model.GeneratorFunc(func(ctx context.Context, _ *model.Request, _ func(model.Delta)) (model.Reply, error) {
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	})
	for i := range 20 {
		s, err := pleat.OpenSession(t.Context(), store.NewMemory(), pleat.Key{Session: fmt.Sprint(i)}, &pleat.Options{
			Budget: pleat.Budget{Window: 20_000}, Digest: digest.Options{Generator: waits},
		})
		history := []pleat.Message{pleat.User("Go on until it works.")}
		for n := 0; err == nil && s.Snapshot().Tokens < s.Snapshot().Limits.Yellow; n++ {
			text := strings.Repeat(fmt.Sprintf("In part%d.go the lock is taken before the queue is drained. ", n), 20)
			history = append(history, pleat.Assistant(pleat.Say(text)), pleat.User("Go on."))
			_, err = s.Sync(t.Context(), history)
		}
		if err == nil {
			_, err = s.Messages(t.Context())
		}
		if err == nil && i%2 == 0 {
			_, err = s.Sync(t.Context(), []pleat.Message{pleat.User("Something else.")})
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

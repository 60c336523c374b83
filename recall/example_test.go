package recall_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

// What was folded is found by words and got back by its handle, byte for byte.
func ExampleSearchRequest() {
	ctx := context.Background()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, nil)
	if err == nil {
		err = s.Append(ctx, pleat.User("What does the server listen on?"),
			pleat.Assistant(pleat.Call("a", "bash", `{"command":"cat server.conf"}`)),
			pleat.Results(pleat.Result("a", "name = gateway\nlisten = 8443\n"+strings.Repeat("# comment\n", 50))))
	}
	if err != nil {
		log.Fatal(err)
	}
	found, err := s.Search(ctx, recall.SearchRequest{Queries: []string{"name of the gateway"}})
	if err != nil {
		log.Fatal(err)
	}
	hit := found.Answers[0].Hits[0]
	u, err := s.Unfold(ctx, recall.UnfoldRequest{Handle: hit.Handle, Pattern: "^listen", Around: -1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(u.Content())
	// Output: listen = 8443
}

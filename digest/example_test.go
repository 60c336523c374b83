package digest_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
)

// A model writes the digest of folded turns, and the report says how it came to be. Here the
// model is a script whose first answer is a refusal, which is no digest.
func ExampleOptions() {
	ctx := context.Background()
	answers := &pleattest.Script{Steps: []pleattest.Step{
		pleattest.Say("<digest>I'm sorry, I can't help with that.</digest>"),
		pleattest.Say("<digest>parse.go calls readToken twice; lexer.go and token.go are fine.</digest>"),
	}}
	s, err := pleat.OpenSession(ctx, store.NewMemory(), pleat.Key{Session: "work"}, &pleat.Options{
		Budget: pleat.Budget{Window: 8_000}, Digest: digest.Options{Generator: answers, NoBackground: true},
	})
	if err == nil {
		err = s.Append(ctx, pleat.User("Why does the parser read a token twice?"))
	}
	for i, file := range []string{
		"parse.go", "lexer.go", "token.go", "main.go", "scan.go", "tree.go", "walk.go", "print.go",
	} {
		if err != nil {
			break
		}
		id := fmt.Sprint("call_", i)
		err = s.Append(ctx,
			pleat.Assistant(pleat.Say(strings.Repeat("Now I look whether "+file+" calls readToken. ", 20)),
				pleat.Call(id, "read_file", `{"path":"`+file+`"}`)),
			pleat.Results(pleat.Result(id, strings.Repeat("func readToken() // of "+file+"\n", 40))))
	}
	if err == nil {
		_, err = s.Pull(ctx, lever.Digest{Keep: 2})
	}
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range s.Report().Digests {
		fmt.Println("by", d.By, "after", len(d.Tries), "tries")
	}
	// Output: by model after 2 tries
}

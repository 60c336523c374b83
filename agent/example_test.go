package agent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// An agent reads a file in its workspace and answers. The model here follows a script; a
// real one comes from a wire package.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "port.txt"), []byte("8443\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	w, err := agent.OpenWorkspace(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	a, err := agent.New(ctx, &agent.Options{
		Generator: &pleattest.Script{Steps: []pleattest.Step{
			pleattest.Use(transcript.Call("c1", "read_file", `{"path":"port.txt"}`)),
			pleattest.Say("It listens on 8443."),
		}},
		Tools: agent.StandardTools(w, nil),
		Observe: func(e agent.Event) {
			switch e.Kind {
			case agent.EventToolCall:
				fmt.Println("call:", e.Call.Name, e.Call.Subject)
			case agent.EventText:
				fmt.Println("text:", e.Text)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	res, err := a.Run(ctx, "Which port does it listen on?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Stop, "after", res.Turns, "requests")
	// Output:
	// call: read_file port.txt
	// text: It listens on 8443.
	// done after 2 requests
}

// A tool of your own is one value. Arguments are decoded into a struct by the names in the
// schema; the effect says whether permission is needed.
func ExampleNewTool() {
	type args struct{ Service string }
	subject := func(in args) string { return in.Service }
	status := agent.NewTool(model.Tool{
		Name:        "status",
		Description: "Says whether a service is up.",
		Schema:      `{"type":"object","properties":{"service":{"type":"string"}},"required":["service"]}`,
	}, agent.EffectNone, subject, func(_ context.Context, _ agent.Call, in args) (string, error) {
		if in.Service != "checkout" {
			return "", fmt.Errorf("there is no service %q", in.Service)
		}
		return "checkout is up\n", nil
	})

	ctx := context.Background()
	a, err := agent.New(ctx, &agent.Options{
		Generator: &pleattest.Script{Steps: []pleattest.Step{
			pleattest.Use(
				transcript.Call("c1", "status", `{"service":"checkout"}`),
				transcript.Call("c2", "status", `{"service":"billing"}`),
			),
			pleattest.Say("Checkout is up, and there is no service called billing."),
		}},
		Tools: []agent.Tool{status},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := a.Run(ctx, "Are checkout and billing up?"); err != nil {
		log.Fatal(err)
	}
	results, err := a.Session().Message(ctx, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range results.Blocks().All() {
		r := b.(transcript.ToolResult)
		fmt.Println(r.CallID, "failed:", r.Error, strings.TrimSpace(r.Text()))
	}
	// Output:
	// c1 failed: false checkout is up
	// c2 failed: true there is no service "billing"
}

// Rules allow calls without asking anybody.
func ExampleRules() {
	rules := agent.Rules{Allow: []string{"bash(git status*)", "bash(go test ./...)", "write_file(src/**)"}}
	for _, c := range []agent.Call{
		{Name: "bash", Subject: "git status --short"},
		{Name: "bash", Subject: "git status; rm -rf /"},
		{Name: "bash", Subject: "git status && go test ./..."},
		{Name: "bash", Subject: "go test ./..."},
		{Name: "write_file", Subject: "src/a/b.go"},
	} {
		fmt.Println(c.Subject, "allowed:", rules.Allows(c))
	}
	// Output:
	// git status --short allowed: true
	// git status; rm -rf / allowed: false
	// git status && go test ./... allowed: false
	// go test ./... allowed: true
	// src/a/b.go allowed: true
}

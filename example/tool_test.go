package example_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// ports is a tool that looks something up. It has no effect, so nobody is asked before it
// runs.
var ports = agent.Tool{
	Definition: model.Tool{
		Name:        "port",
		Description: "Says on which port a service listens.",
		Schema:      `{"type":"object","properties":{"service":{"type":"string"}},"required":["service"]}`,
	},
	Run: func(_ context.Context, c agent.Call) (string, error) {
		var args struct{ Service string }
		if err := c.Decode(&args); err != nil {
			return "", err
		}
		if args.Service != "billing" {
			return "", fmt.Errorf("there is no service %q: there is billing", args.Service)
		}
		return "8443", nil
	},
}

// The agent is given its tools in the options. The model here follows a script.
func Example_tool() {
	ctx := context.Background()
	a, err := agent.New(ctx, &agent.Options{
		Generator: &pleattest.Script{Steps: []pleattest.Step{
			pleattest.Use(transcript.Call("1", "port", `{"service":"billing"}`)),
			pleattest.Say("Billing listens on 8443."),
		}},
		Tools: []agent.Tool{ports},
		Observe: func(e agent.Event) {
			switch e.Kind {
			case agent.EventToolCall:
				fmt.Println("call:", e.Call.Name, e.Call.Input)
			case agent.EventText:
				fmt.Println("text:", e.Text)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := a.Run(ctx, "Where does billing listen?"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// call: port {"service":"billing"}
	// text: Billing listens on 8443.
}

package main

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/anthropic"
	"github.com/pleat-dev/pleat/openai"
)

// What agents leave behind becomes a request that every provider takes.
func TestSendable(t *testing.T) {
	long := "call_" + strings.Repeat("x", 80) + "|fc"
	msgs := []pleat.Message{
		pleat.User("begin"),
		pleat.Assistant(pleat.Call("a", "read", `{}`), pleat.Call(long, "read", `{}`)),
		pleat.User("typed meanwhile"),
		pleat.Results(pleat.Result("a", "one"), pleat.Result(long, "two")),
		pleat.Assistant(pleat.Call("a", "read", `{}`), pleat.Call("cut", "read", `{}`)), // the id comes again; one is broken off
		pleat.Results(pleat.Result("a", "three")),
		pleat.Assistant(pleat.Say(" \n"), pleat.Call("last", "read", `{}`)),
	}
	out := sendable(msgs)
	req := &pleat.Request{Model: "m", Messages: out}
	for name, check := range map[string]func() ([]pleat.Violation, error){
		"anthropic": func() ([]pleat.Violation, error) {
			body, err := anthropic.Encode(req)
			if err != nil {
				return nil, err
			}
			r, err := anthropic.Decode(body)
			return r.Check(pleat.Model{}), err
		},
		"chat": func() ([]pleat.Violation, error) {
			body, err := openai.EncodeChat(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeChat(body)
			return r.Check(pleat.Model{}), err
		},
		"responses": func() ([]pleat.Violation, error) {
			body, err := openai.EncodeResponses(req)
			if err != nil {
				return nil, err
			}
			r, err := openai.DecodeResponses(body)
			return r.Check(pleat.Model{}), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			violations, err := check()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range violations {
				t.Error(v)
			}
		})
	}
	legal := msgs[:1]
	if got := sendable(legal); got[0].Text() != "begin" {
		t.Errorf("a legal message was changed: %v", got)
	}
}

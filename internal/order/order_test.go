package order_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/order"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/wire/anthropic"
	"github.com/pleat-dev/pleat/wire/gemini"
	"github.com/pleat-dev/pleat/wire/openai"
)

var cases = []struct{ name, given, want string }{
	{"in order", "u ab =a =b u", "u ab =a =b u"},
	{"in one message", "u ab =a=b u", "u ab =a=b u"},
	{"words before all", "u ab u =a=b", "u ab =a=b u"},
	{"words before some", "u ab =a u =b s u", "u ab =a =b u s u"},
	{"words beside a result", "u ab u =au =b", "u ab =a =b u u"},
	{"a system message before it", "u a sys =a", "u a =a sys"},
	{"an answer in several messages", "u a b s u =b =a", "u a b s =b =a u"},
	{"another answer before it", "u a u s =a u", "u a =a u s u"},
	{"another call before it", "u a u b =b=a s u", "u a =a u b =b s u"},
	{"an id that comes again", "u a =a u a u =a", "u a =a u a =a u"},
	{"a result of nothing", "u =x a u =a", "u =x a =a u"},
	{"a call without a result", "u ab u =a u", "u ab =a u u"},
}

func TestResults(t *testing.T) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			given := read(tt.given)
			got := order.Results(given)
			if write(got) != tt.want {
				t.Errorf("%s, not %s", write(got), tt.want)
			}
			if again := order.Results(got); write(again) != tt.want {
				t.Errorf("put in order twice: %s", write(again))
			}
		})
	}
}

// TestEncoders writes conversations whose results come late on all wires.
func TestEncoders(t *testing.T) {
	for _, tt := range cases {
		if strings.HasSuffix(tt.name, " without a result") || strings.HasSuffix(tt.name, " of nothing") {
			continue
		}
		r := &model.Request{Model: "m", Messages: read(tt.given), MaxTokens: 1}
		check(t, tt.name, r, anthropic.Encode, anthropic.Decode)
		check(t, tt.name, r, openai.EncodeChat, openai.DecodeChat)
		check(t, tt.name, r, openai.EncodeResponses, openai.DecodeResponses)
		check(t, tt.name, r, gemini.Encode, gemini.Decode)
	}
}

func check[R interface {
	Check(model.Model) []transcript.Violation
}](t *testing.T, name string, req *model.Request, encode func(*model.Request) ([]byte, error), decode func([]byte) (R, error)) {
	t.Helper()
	body, err := encode(req)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !utf8.Valid(body) {
		t.Errorf("%s: not UTF-8: %s", name, body)
	}
	r, err := decode(body)
	difftest.Must(t, err)
	for _, v := range r.Check(model.Model{}) {
		if !strings.HasPrefix(v.Rule, "tool-use-id") { // an id may come again on most wires
			t.Errorf("%s: %s %s\n%s", name, v.Rule, v, body)
		}
	}
}

// read makes messages of words: u, s and sys are what user, assistant and system say, other letters
// calls, and those behind a = results.
func read(given string) (msgs []transcript.Message) {
	for _, word := range strings.Fields(given) {
		switch word {
		case "u":
			msgs = append(msgs, transcript.User("u"))
			continue
		case "s", "sys":
			role := map[string]transcript.Role{"s": transcript.RoleAssistant, "sys": transcript.RoleSystem}[word]
			msgs = append(msgs, transcript.NewMessage(role, transcript.Say(word)))
			continue
		}
		var blocks []transcript.Block
		role, result := transcript.RoleAssistant, false
		for _, c := range strings.Split(word, "") {
			switch {
			case c == "=":
				role, result = transcript.RoleUser, true
			case result:
				blocks, result = append(blocks, transcript.Result(c, "ok")), false
			case c == "u":
				blocks = append(blocks, transcript.Say("u"))
			default:
				blocks = append(blocks, transcript.Call(c, "f", "{\"not UTF-8\":\"\xff\"}"))
			}
		}
		msgs = append(msgs, transcript.NewMessage(role, blocks...))
	}
	return msgs
}

func write(msgs []transcript.Message) string {
	var words []string
	for _, m := range msgs {
		word := ""
		for _, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				word += b.ID
			case transcript.ToolResult:
				word += "=" + b.CallID
			case transcript.Text:
				word += b.Text.String()
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

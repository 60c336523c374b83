package anthropic

import (
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

const (
	twoCalls = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"a","input":{}},{"type":"tool_use","id":"toolu_2","name":"b","input":{}}]}`
	itsOwn   = `{ "role": "user", "content": [ {"type":"tool_result","tool_use_id":"toolu_2","content":"two"}, {"type":"text","text":"And?"} ] }`
	both     = `{ "role": "user", "content": [ {"type":"tool_result","tool_use_id":"toolu_1","content":"one"},{"type":"tool_result","tool_use_id":"toolu_2","content":"two"}, {"type":"text","text":"And?"} ] }`
)

// The results of one answer stand in one message, whoever has which of them.
func TestResultsStandTogether(t *testing.T) {
	begin := `{"role":"user","content":"Go."}`
	r := mustDecode(t, `{"model":"m","messages":[`+begin+`,`+twoCalls+`,`+itsOwn+`]}`)
	one := transcript.Results(transcript.Result("toolu_1", "one"))
	want := begin + `,` + twoCalls + `,` + both
	out, err := r.Splice(transcript.View{
		Messages: []transcript.ViewMessage{{Source: 0}, {Source: 1}, {Source: -1, Made: one}, {Source: 2}},
	})
	if got := string(out); err != nil || got != `{"model":"m","messages":[`+want+`]}` {
		t.Errorf("a view: %s, %v", got, err)
	}
	msgs := []transcript.Message{r.Messages[0], r.Messages[1], one, r.Messages[2]}
	out, err = Encode(&model.Request{Model: "m", MaxTokens: 1, Messages: msgs})
	if got := string(out); err != nil || got != `{"model":"m","max_tokens":1,"messages":[`+want+`]}` {
		t.Errorf("a request: %s, %v", got, err)
	}
	out, err = Encode(&model.Request{Model: "m", MaxTokens: 1, Messages: r.Messages})
	must(t, err)
	if again, err := Decode(out); err != nil || len(again.Messages) != 3 || again.Messages[2].Blocks().Len() != 3 {
		t.Errorf("with a call that nothing answers: %s, %v", out, err)
	}
}

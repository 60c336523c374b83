package pleat_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pleat-dev/pleat"
)

func TestMessageJSON(t *testing.T) {
	bad := "not \xff UTF-8"
	m := pleat.WireMessage(pleat.RoleAssistant, pleat.FormatAnthropic, `{"role":"assistant","x":1.0}`,
		pleat.Text{Text: pleat.Plain(bad), Raw: `{"type":"text"}`},
		pleat.Thinking{Text: pleat.Plain("hm"), Signature: "c2ln", Redacted: true},
		pleat.Call("c1", "bash", `{"command":"ls"}`),
		pleat.ToolResult{CallID: "c1", Error: true, Parts: pleat.BlocksOf(pleat.Say(bad), pleat.Image{MediaType: "image/png", Data: pleat.Plain("AAAA"), Detail: "low"})},
		pleat.Image{URL: "file:x"},
		pleat.Opaque{Type: "document", Raw: `{"type":"document"}`},
	).WithOrigin(pleat.OriginTyped)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got pleat.Message
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, got) {
		t.Errorf("round trip:\n%s\ngot  %+v\nwant %+v", data, got, m)
	}
	for _, broken := range []string{`{`, `{"blocks":[{"kind":"nonsense"}]}`, `{"blocks":[{"kind":"tool_result","parts":[{"kind":""}]}]}`} {
		if err := json.Unmarshal([]byte(broken), &got); err == nil {
			t.Errorf("Unmarshal(%s) succeeded", broken)
		}
	}
}

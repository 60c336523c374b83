package transcript_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

func TestMessageJSON(t *testing.T) {
	bad := "not \xff UTF-8"
	m := transcript.WireMessage(transcript.RoleAssistant, transcript.FormatAnthropic, `{"role":"assistant","x":1.0}`,
		transcript.Text{Text: transcript.Plain(bad), Raw: `{"type":"text"}`},
		transcript.Thinking{Text: transcript.Plain("hm"), Signature: "c2ln", Redacted: true},
		transcript.Call("c1", "bash", `{"command":"ls"}`),
		transcript.ToolResult{
			CallID: "c1", Error: true,
			Parts: transcript.BlocksOf(transcript.Say(bad),
				transcript.Image{MediaType: "image/png", Data: transcript.Plain("AAAA"), Detail: "low"}),
		},
		transcript.Image{URL: "file:x"},
		transcript.Opaque{Type: "document", Raw: `{"type":"document"}`},
	).WithOrigin(transcript.OriginTyped)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got transcript.Message
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, got) {
		t.Errorf("round trip:\n%s\ngot  %+v\nwant %+v", data, got, m)
	}
	for _, broken := range []string{
		`{`, `{"blocks":[{"kind":"nonsense"}]}`,
		`{"blocks":[{"kind":"tool_result","parts":[{"kind":""}]}]}`,
	} {
		if err := json.Unmarshal([]byte(broken), &got); err == nil {
			t.Errorf("Unmarshal(%s) succeeded", broken)
		}
	}
}

package exchange

import (
	"bytes"
	"testing"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// TestLegal: what goes out breaks no rule that the request does not break itself.
func TestLegal(t *testing.T) {
	whole := []byte(`{"model":"m","messages":[{"role":"user","content":"Go."},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c2","name":"bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"2"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"bash","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c3","content":"3"}]}]}`)
	read, err := protocol.Messages.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	req := request{Request: read}
	rw := New(Options{Models: model.DefaultModels()})
	if !rw.legal(req, whole) ||
		rw.legal(req, bytes.Replace(whole, []byte(`"tool_use_id":"c3"`), []byte(`"tool_use_id":"c2"`), 1)) {
		t.Error("a result is taken without its call, or with it is not")
	}
}

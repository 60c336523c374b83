package proxy

import (
	"testing"
	"unsafe"

	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// A session does not keep the memory of the request that it was opened with.
func TestHeadIsOwn(t *testing.T) {
	for _, on := range protocol.Protocols {
		a := newAgent(on, "", "Do all the steps.")
		body := a.body()
		req := must(on.Read(body))
		system, tools := req.Head()
		if len(tools) != 1 || tools[0] != req.Tools[0] || system != req.System {
			t.Errorf("%s: %q, %v", on.Format, system, tools)
		}
		first, last := uintptr(unsafe.Pointer(&body[0])), uintptr(unsafe.Pointer(&body[len(body)-1]))
		for _, s := range []string{system, tools[0].Name, tools[0].Description, tools[0].Schema, tools[0].Raw} {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= first && at <= last {
				t.Errorf("%s: %q shares the memory of the request", on.Format, s)
			}
		}
	}
}

func takeAll(int64) bool { return true }

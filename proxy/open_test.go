package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
)

// curious recalls earlier outputs, one after the other, once it has read the last one.
type curious struct {
	script *upstreamtest.Server
	last   string // what the newest output ends with
	line   string // a line of it
	most   int    // recalls
	asked  int
	lost   []int // of the rounds, those that lacked that line
}

func (c *curious) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var seen capture
	seen.to = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	seen.ServeHTTP(w, r)
	raw := string(seen.bodies[0])
	switch {
	case c.asked == 0 && !strings.Contains(raw, c.last):
		c.script.ServeHTTP(w, httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(raw)))
		return
	case c.asked > 0 && !strings.Contains(raw, c.line):
		c.lost = append(c.lost, c.asked)
	}
	content, stop := `{"type":"text","text":"That is all."}`, "end_turn"
	if c.asked < c.most {
		content = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"unfold","input":{"handle":"#%d"}}`,
			c.asked, 2+2*c.asked)
		stop = "tool_use"
	}
	c.asked++
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,`+
		`"usage":{"input_tokens":%d,"output_tokens":5}}`, content, stop, len(raw)/4)
}

// What the newest request brought stays while its turn is open, whatever is recalled, as long
// as there is anything else to fold, also where the client's tools take a third of the window.
func TestNewestResultStaysInItsTurn(t *testing.T) {
	for _, pages := range []int{12, 13, 14, 15, 16, 17, 18, 19, 20} {
		for _, long := range []bool{false, true} {
			up := &curious{
				script: upstreamtest.New(upstreamtest.Options{Calls: pages, Bytes: 9_000}), most: 3,
				last: fmt.Sprintf("step-%d-done", pages), line: fmt.Sprintf("step %d line 20 value", pages),
			}
			a := newAgent(protocol.Messages, start(t, up, Options{Window: 30_000}), "Do all the steps.")
			a.streams = false
			if long {
				up.most = 6
				a.tools = strings.ReplaceAll(a.toolList(), "Run.", strings.Repeat("Run it with care. ", 2_000))
			}
			a.run(t)
			if up.asked != up.most+1 || len(up.lost) > 0 {
				t.Errorf("%d pages: %d recalls; the newest page was gone in rounds %v", pages, up.asked-1, up.lost)
			}
		}
	}
}

package mcp_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/mcp"
)

// reply is what a conformance case says of an answer, apart from the name and the abilities
// of the server that it was written for.
type reply struct {
	ID    int
	Error *struct{ Code int }
	// Result has what the protocol settles.
	Result *struct {
		ProtocolVersion   string
		SupportedVersions []string
	}
}

// TestConformance plays the SDK's conformance cases that are about the protocol itself. The
// others call the tools of a server of the SDK's own.
func TestConformance(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/modelcontextprotocol/go-sdk").
		Output()
	if err != nil {
		t.Skipf("the SDK's source is not here: %v", err)
	}
	for _, name := range []string{"lifecycle", "version-older", "version-latest", "bad_requests", "discover"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(
				filepath.Join(strings.TrimSpace(string(out)), "mcp", "testdata", "conformance",
					"server", name+".txtar"),
			)
			if err != nil {
				t.Skip(err)
			}
			_, rest, _ := strings.Cut(string(data), "-- client --\n")
			asks, answers, _ := strings.Cut(rest, "-- server --\n")
			play(t, json.NewDecoder(strings.NewReader(asks)), json.NewDecoder(strings.NewReader(answers)))
		})
	}
}

// play sends what the client of a case says, and compares the answers.
func play(t *testing.T, asks, answers *json.Decoder) {
	in, send := io.Pipe()
	receive, out := io.Pipe()
	srv := mcp.NewServer(newLibrary(t), mcp.Options{Version: "1"})
	ss, err := srv.Connect(t.Context(), &sdk.IOTransport{Reader: in, Writer: out}, nil)
	must(t, err)
	t.Cleanup(func() { send.Close(); receive.Close(); ss.Close() })
	got, n := json.NewDecoder(receive), 0
	for {
		var ask json.RawMessage
		if err := asks.Decode(&ask); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := send.Write(append([]byte(strings.ReplaceAll(string(ask), "\n", " ")), '\n')); err != nil {
			t.Fatal(err)
		}
		var head struct{ ID *int }
		must(t, json.Unmarshal(ask, &head))
		if head.ID == nil {
			continue
		}
		var is, want reply
		must(t, answers.Decode(&want))
		must(t, got.Decode(&is))
		a, _ := json.Marshal(is)
		if b, _ := json.Marshal(want); string(a) != string(b) {
			t.Errorf("%s\nanswer %s\nwant   %s", ask, a, b)
		}
		n++
	}
	if n == 0 {
		t.Error("the case asks nothing")
	}
}

package recall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// One tokenizer for all tests: its cache makes them fast.
var counter = tokens.NewTokenizer(model.Model{}, nil)

// recallSession is a small session with something of each kind in it.
func recallSession(t testing.TB) *pleat.Session {
	t.Helper()
	s, err := pleat.OpenSession(
		t.Context(), store.NewMemory(), store.SessionKey{Session: "recall"}, &pleat.Options{Tokens: counter},
	)
	must(t, err)
	var list strings.Builder
	for i := range 400 {
		fmt.Fprintf(&list, "entry %d of the list\n", i+1)
	}
	err = s.Append(
		t.Context(),
		transcript.User("Set the upload limit. Never touch legacy/."),
		transcript.Assistant(
			transcript.Say("I read the settings."),
			transcript.Call("1", "read_file", `{"path":"config/server.toml"}`),
		),
		transcript.Results(transcript.Result("1", "[server]\nport = 8081\nuploadSizeLimit = 1048576\nworkers = 4\n")),
		transcript.Assistant(transcript.Call("2", "bash", `{"command":"cat list.txt"}`)),
		transcript.Results(transcript.Result("2", list.String())),
		transcript.Assistant(transcript.Call("3", "fetch", `{"url":"https://example.org/data.json"}`)),
		transcript.Results(transcript.Result("3", `{"junk":"`+strings.Repeat("lorem ipsum ", 400)+
			`","needle":"zanzibar-77","more":"`+strings.Repeat("dolor sit ", 400)+`"}`)),
		transcript.Assistant(
			transcript.Call("4", "edit_file",
				`{"path":"config/server.toml","old_string":"1048576","new_string":"2097152"}`),
		),
		transcript.Results(transcript.Result("4", "The file config/server.toml has been updated.")),
	)
	must(t, err)
	return s
}

func handleOf(t testing.TB, s *pleat.Session, call int) string {
	t.Helper()
	for _, e := range s.Ledger(ledger.Filter{From: call, To: call}) {
		return e.Handle
	}
	t.Fatalf("no call %d", call)
	return ""
}

func unfold(t testing.TB, s *pleat.Session, r recall.UnfoldRequest) recall.Unfolded {
	t.Helper()
	u, err := s.Unfold(t.Context(), r)
	must(t, err)
	return u
}

func searchFor(t testing.TB, s *pleat.Session, queries ...string) recall.SearchResult {
	t.Helper()
	res, err := s.Search(t.Context(), recall.SearchRequest{Queries: queries})
	must(t, err)
	return res
}

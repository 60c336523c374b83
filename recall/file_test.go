package recall_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func TestUnfoldFile(t *testing.T) {
	s := recallSession(t)
	u := unfold(t, s, recall.UnfoldRequest{Handle: "path:server.toml"})
	want := "[server]\nport = 8081\nuploadSizeLimit = 2097152\nworkers = 4\n"
	if u.Content() != want || !u.File.Certain || u.Handle != "path:config/server.toml" || u.File.Call != 4 {
		t.Errorf("got %q, %+v", u.Content(), u.File)
	}
	if u := unfold(t, s, recall.UnfoldRequest{Handle: "path:config/server.toml@1"}); u.Content() != strings.Replace(
		want,
		"2097152",
		"1048576",
		1,
	) {
		t.Errorf("after call 1: %q", u.Content())
	}
	u = unfold(t, s, recall.UnfoldRequest{Handle: "path:config/server.toml", From: 3, To: 3})
	if u.Content() != "uploadSizeLimit = 2097152\n" {
		t.Errorf("line 3: %q", u.Content())
	}
	diff := "# call 4: edit_file\npath: config/server.toml\n-1048576\n+2097152\n"
	if u := unfold(t, s, recall.UnfoldRequest{Handle: "path:config/server.toml", Diff: true}); u.Content() != diff {
		t.Errorf("diff: %q", u.Content())
	}
	for handle, says := range map[string]string{
		"path:nowhere.go":      "no call of this session names the file",
		"path:lib/server.toml": "did you mean config/server.toml?",
	} {
		if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: handle}); !errors.Is(err, store.ErrNotFound) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", handle, err)
		}
	}
	if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: "path:server.toml@90"}); err == nil ||
		!strings.Contains(err.Error(), "there is no call 90") {
		t.Errorf("a call that is not there: %v", err)
	}
}

// A model is told whether a file is certain, or since when and why not.
func TestUnfoldFileUncertain(t *testing.T) {
	s := recallSession(t)
	err := s.Append(
		t.Context(),
		transcript.Assistant(transcript.Call("5", "bash", `{"command":"npm run format"}`)),
		transcript.Results(transcript.Result("5", "")),
		transcript.Assistant(transcript.Call("6", "read_file", `{"path":"config/server.toml","offset":3,"limit":1}`)),
		transcript.Results(transcript.Result("6", "uploadSizeLimit = 2097152\n")),
		transcript.Assistant(transcript.Call("7", "read_file", `{"path":"main.go","offset":10,"limit":2}`)),
		transcript.Results(transcript.Result("7", "func main() {\n\trun()\n")),
		transcript.Assistant(
			transcript.Call("8", "edit_file", `{"path":"main.go","old_string":"elsewhere","new_string":"here"}`),
		),
		transcript.Results(transcript.Result("8", "The file main.go has been updated.")),
	)
	must(t, err)
	for input, want := range map[string]string{
		`{"handle":"path:server.toml"}`: "[pleat unfold path:config/server.toml: file as rebuilt, call 6, message 12, turn 6, " +
			"4 lines, 59 bytes, not certain since call 5: it may have changed it: bash npm run format]\n" +
			"1\t[server]\n2\tport = 8081\n3\tuploadSizeLimit = 2097152\n4\tworkers = 4\n",
		`{"handle":"path:main.go","diff":true}`: "[pleat unfold path:main.go: what calls changed, one by one, call 8, " +
			"message 16, turn 8, 4 lines, 51 bytes]\n1\t# call 8: edit_file\n2\tpath: main.go\n3\t-elsewhere\n4\t+here\n",
	} {
		got, isError, _ := inside.Of(s).Answer(t.Context(), recall.ToolUnfold, input)
		if got != want || isError {
			t.Errorf("%s:\ngot  %q\nwant %q", input, got, want)
		}
	}
	if _, err := s.Unfold(t.Context(), recall.UnfoldRequest{Handle: "path:main.go"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file of which a part was shown: %v", err)
	}
}

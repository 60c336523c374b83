package page_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/transcript"
)

// TestStatedCorpus reports how much of what the assistant said stands word for word in the
// default view of a whole session: the mean share, over the sessions that are larger than the
// view, of its sentences, and of its texts with at least one of them.
func TestStatedCorpus(t *testing.T) {
	files := corpustest.Files(t)
	for _, folder := range corpustest.Folders(t) {
		for _, budget := range []int{8_000, 20_000, 49_000} {
			sessions, sentences, texts := 0, 0.0, 0.0
			for _, file := range files {
				if !strings.HasPrefix(file, folder+string(filepath.Separator)) {
					continue
				}
				var said [][]string
				size := 0
				for _, m := range corpustest.Read(t, file) {
					for _, b := range m.Blocks().All() {
						txt := transcript.BlockText(b)
						size += counter.CountText(txt)
						if list := statements(txt); m.Role() == transcript.RoleAssistant &&
							b.Kind() == transcript.KindText &&
							len(list) > 0 {
							said = append(said, list)
						}
					}
				}
				if size < budget*6/5 || len(said) == 0 {
					continue
				}
				view := oneSpace(tightView(t, file, budget))
				count, stand, some := 0, 0, 0
				for _, list := range said {
					before := stand
					for _, s := range list {
						if count++; strings.Contains(view, s) {
							stand++
						}
					}
					if stand > before {
						some++
					}
				}
				sessions++
				sentences += float64(stand) / float64(count)
				texts += float64(some) / float64(len(said))
				if testing.Verbose() {
					t.Logf("  %s: %d of %d sentences, %d of %d texts", filepath.Base(file), stand, count,
						some, len(said))
				}
			}
			if sessions > 0 {
				t.Logf("%s at %d tokens, %d sessions: %.3f of the assistant's sentences, %.3f of its texts stand in the view",
					filepath.Base(folder), budget, sessions, sentences/float64(sessions), texts/float64(sessions))
			}
		}
	}
}

// statements splits a text into sentences of at least five words.
func statements(txt string) []string {
	var list []string
	for line := range strings.Lines(txt) {
		for _, s := range strings.SplitAfter(strings.TrimLeft(line, " \t-*#>0123456789."), ". ") {
			if s = oneSpace(s); len(strings.Fields(s)) >= 5 {
				list = append(list, s)
			}
		}
	}
	return list
}

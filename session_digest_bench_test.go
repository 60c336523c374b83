package pleat_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// BenchmarkReadyDigest measures how long a caller waits for the view at red when a digest
// was prepared in the background.
func BenchmarkReadyDigest(b *testing.B) {
	for _, window := range []int{200_000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) {
			var msgs []transcript.Message
			for i, m := range longSession(window) {
				msgs = append(msgs, m)
				if m.Role() == transcript.RoleTool { // what masking cannot fold
					msgs = append(
						msgs,
						transcript.Assistant(
							transcript.Say(
								fmt.Sprintf(
									"%d: ",
									i,
								)+strings.Repeat(
									"The store folds a view because the retry budget of session_line is spent. ",
									300,
								),
							),
						),
						transcript.User("Go on."),
					)
				}
			}
			written := digestOf(msgs[:40])
			for b.Loop() {
				b.StopTimer()
				ready := make(chan *digest.Origin, 100)
				s := open(b, store.NewMemory(), &pleat.Options{
					Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
						if e.Kind == pleat.EventDigest {
							ready <- e.Digest
						}
					},
					Budget: fold.Budget{Window: window}, Model: model.Model{ID: "m", Window: window},
					Digest: digest.Options{Generator: pleattest.Always(written)},
				})
				n := 0
				for ; s.Snapshot().State != fold.Red; n++ {
					if err := s.Append(b.Context(), msgs[n]); err != nil {
						b.Fatal(err)
					}
					if s.Snapshot().State != fold.Red {
						view(b, s)
					}
				}
				select {
				case d := <-ready:
					if d.By != "model" {
						b.Fatalf("nothing is prepared: %v", d)
					}
				case <-time.After(10 * time.Second):
					b.Fatalf("nothing is prepared: %v", s.Report())
				}
				runtime.GC()
				b.StartTimer()
				if _, err := s.View(b.Context(), pleat.Turn{}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if !slices.ContainsFunc(s.Report().Folds, func(f *fold.Fold) bool { return f.By == "model" }) {
					b.Fatalf("the digest is not used: %v", s.Report())
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// digestOf is a digest that names what the messages name.
func digestOf(msgs []transcript.Message) string {
	var b strings.Builder
	b.WriteString("<digest>\n### Findings\n")
	names := regexp.MustCompile(`\w+Of\w+\d+`).FindAllString(pleattest.Text(msgs), 120)
	for _, name := range names {
		fmt.Fprintf(&b, "- %s folds a view whenever the budget of a line is spent on retries.\n", name)
	}
	return b.String() + "</digest>"
}

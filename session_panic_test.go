package pleat_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// A generator that panics fails that digest, in the background and while somebody waits. The log
// says where it panicked.
func TestGeneratorPanics(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			s := open(t, store.NewMemory(), &pleat.Options{
				Budget: fold.Budget{Window: 16_000}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Digest: digest.Options{NoBackground: waits, Generator: &pleattest.Script{
					Then: func(int, *model.Request) (model.Reply, error) { panic("oops") },
				}},
			})
			pleattest.Digestible(t, s, 16) // yellow
			if waits {
				pleattest.Digestible(t, s, 8)
			}
			pleattest.View(t, s)
			synctest.Wait()
			got := s.Report().Digests
			if len(got) != 1 || got[0].By != "code" || got[0].Why != "asking it panicked: oops" ||
				got[0].Background == waits {
				t.Errorf("waits %v: digests are %+v", waits, got)
			}
			if !strings.Contains(log.String(), "session_panic_test.go") {
				t.Errorf("waits %v: the log has:\n%s", waits, log.String())
			}
		})
	}
}

// An observer that panics where nobody can recover ends what was prepared there, and no more.
func TestObserverPanicsInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := open(t, store.NewMemory(), &pleat.Options{
			Budget: fold.Budget{Window: 16_000}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Digest: digest.Options{Generator: pleattest.Always("")},
			Observe: func(_ context.Context, _ store.SessionKey, e pleat.Event) {
				if e.Kind == pleat.EventWriting && e.Digest.Background {
					panic("oops")
				}
			},
		})
		pleattest.Digestible(t, s, 16)
		pleattest.View(t, s)
		synctest.Wait()
		if !strings.Contains(log.String(), "panicked: oops") {
			t.Errorf("the log has:\n%s", log.String())
		}
		pleattest.Digestible(t, s, 8)
		pleattest.View(t, s)
	})
}

// A codec that panics while many messages are read is an error of Append.
func TestCodecPanics(t *testing.T) {
	codecs := map[transcript.Format]transcript.Codec{"mine": func([]byte) (transcript.Message, error) { panic("oops") }}
	s := open(t, store.NewMemory(), &pleat.Options{Codecs: codecs})
	m := transcript.WireMessage(transcript.RoleUser, "mine", strings.Repeat("x", 50_000), transcript.Say("x"))
	err := s.Append(t.Context(), slices.Repeat([]transcript.Message{m}, 4)...)
	if err == nil || !strings.Contains(err.Error(), "panicked: oops") {
		t.Errorf("got %v", err)
	}
}

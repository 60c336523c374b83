package hook

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
)

// A hook that fails says so in its notes, and nothing to the agent.
func TestRunNotesFailures(t *testing.T) {
	var out bytes.Buffer
	o := Options{
		In: strings.NewReader(`{"session_id":"s","transcript_path":"gone"}`), Out: &out, Agent: "claude", Folder: t.TempDir(),
		Open: func(context.Context, time.Duration) (library.Store, error) {
			return nil, errors.New("open postgres://me:hunter2@host/db")
		},
	}
	if err := Run(t.Context(), "pre-compact", o); err == nil {
		t.Error("it did not fail")
	}
	s, err := Read(o.Folder, "claude")
	if err != nil || s.Error != "open postgres://me:xxxxx@host/db" || s.Client != "s" || s.Ended.IsZero() || out.Len() > 0 {
		t.Errorf("noted %+v, %v; the agent got %q", s, err, &out)
	}
	for name, quiet := range map[string]Options{
		"off": {Off: true}, "behind a proxy": {Proxied: true}, "in a sub-agent": {},
	} {
		quiet.In, quiet.Out, quiet.Agent, quiet.Folder = strings.NewReader(`{"agent_id":"a"}`), &out, "pi", o.Folder
		if err := Run(t.Context(), "compact", quiet); err != nil || out.Len() > 0 {
			t.Errorf("%s: %v, %q", name, err, &out)
		}
	}
	if _, err := Read(o.Folder, "pi"); err == nil {
		t.Error("what did not run is noted")
	}
	o.Wrong = errors.New("settings")
	if err := Run(t.Context(), "compact", o); err == nil {
		t.Error("the error is lost")
	}
	if s, _ := Read(o.Folder, "claude"); s.Error != "settings" {
		t.Errorf("noted %+v", s)
	}
}

// A page takes what the agent takes, and of a small window a part.
func TestHookMost(t *testing.T) {
	for window, want := range map[int]int{0: 24_000, 1_000: 2_000, 16_000: 8_000, 200_000: 24_000, -1: 24_000} {
		h := &hook{in: input{Tokens: window}}
		if got := h.most(agents["pi"]); got != want {
			t.Errorf("window %d: %d characters, want %d", window, got, want)
		}
	}
}

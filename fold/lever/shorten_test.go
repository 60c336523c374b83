package lever_test

import (
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/transcript"
)

func TestShorten(t *testing.T) {
	paste := strings.Repeat("    main.go:12: connection refused by peer\n", 2_000)
	s := open(t, 20_000, lever.Shorten{Typed: 3, Injected: 8})
	say(
		t,
		s,
		transcript.User(
			"<system-reminder>\nThese are the rules of the house.\n"+strings.Repeat(
				"Always knock at the door first. ",
				600,
			)+"\nWipe your feet.\n</system-reminder>",
		),
		transcript.User("Read all files."),
	)
	reads(t, s, 0, 3)
	say(t, s, transcript.User("why does this fail?\n"+paste+"it worked yesterday"))
	all := strings.Join(view(t, s), "\n")
	has(t, s, "These are the rules of the house.", "Wipe your feet.", "Read all files.",
		"why does this fail?\n    main.go:12:", "it worked yesterday", "lines left out; the rest: ")
	if n := s.Snapshot(); n.Tokens > n.Limits.Target || strings.Count(all, "knock") > 300 {
		t.Errorf("%d tokens, target %d", n.Tokens, n.Limits.Target)
	}
	if list := s.Report().Folds; len(list) != 2 || list[0].Lever != "shorten" || list[1].Lever != "shorten" {
		t.Errorf("folds %v", list)
	}
	for _, origin := range []transcript.Origin{transcript.OriginInjected, transcript.OriginTyped} {
		s := open(t, 20_000, lever.Shorten{Typed: 3, Injected: 8})
		say(
			t,
			s,
			transcript.NewMessage(transcript.RoleDeveloper,
				transcript.Say("Skills.\n"+strings.Repeat("Always knock at the door first. ", 900))).
				WithOrigin(origin),
			transcript.User("Read all files."),
		)
		reads(t, s, 0, 30)
		if n := strings.Count(strings.Join(view(t, s), "\n"), "knock"); n > 100 != (origin != transcript.OriginInjected) {
			t.Errorf("a developer message of origin %v is shown with %d of 900 lines", origin, n)
		}
	}
	refused(t, lever.Shorten{Typed: -1}, "must not be negative")
}

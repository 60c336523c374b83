package pleat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// TestSyncAskedTheSame slides over a history that says the same again and again.
func TestSyncAskedTheSame(t *testing.T) {
	ask := pleat.User("Is it done?")
	all := []pleat.Message{
		pleat.User("Build it. Is it done?"), say("No."), ask, say("No."), ask, say("Half."), ask, say("No."), ask,
		say("Nearly."), ask, say("Yes."),
	}
	for _, window := range []int{4, 5, 6, 7} {
		s := open(t, store.NewMemory(), nil)
		for n := 2; n <= len(all); n += 2 {
			if next := mustSync(t, s, all[max(0, n-window):n]); next != s {
				t.Fatalf("%d messages of %d go on in %s", window, n, next.Key())
			}
		}
		if got := allText(view(t, s)); got != allText(all) {
			t.Errorf("%d messages: %s", window, got)
		}
	}
}

// TestSyncRepeatedWords edits and takes back turns of whole histories whose turns say the same: what
// was taken back is not sent.
func TestSyncRepeatedWords(t *testing.T) {
	ask, ok, on := pleat.User("Build it."), say("OK."), pleat.User("Go on.")
	words := []pleat.Message{ask, ok, on, ok, on, ok, on}
	polls := []pleat.Message{ask, poll("1"), polled("1"), poll("1"), polled("1"), poll("1"), polled("1")}
	for _, all := range [][]pleat.Message{words, polls} {
		for n := 3; n < len(all); n += 2 {
			for _, more := range [][]pleat.Message{nil, {say("Now the rest.")}, {say("No."), pleat.User("Stop.")}} {
				then := append(all[:n:n], more...)
				next := mustSync(t, mustSync(t, open(t, store.NewMemory(), nil), all), then)
				if got := allText(view(t, next)); got != allText(then) {
					t.Errorf("%d messages kept and %d more: %s", n, len(more), got)
				}
			}
		}
	}
}

// TestSyncRepeatedAnswer takes back what stands between two answers that say the same, and says the
// newest words again.
func TestSyncRepeatedAnswer(t *testing.T) {
	ask, shall := pleat.User("Drop table users?"), say("Shall I?")
	yes, no, kept := pleat.User("yes"), pleat.User("no"), say("It is kept.")
	for _, begin := range [][]pleat.Message{nil, {system("Be careful.")}} {
		for name, c := range map[string]struct{ was, then []pleat.Message }{
			"a question":       {[]pleat.Message{ask, shall, yes, shall, no}, []pleat.Message{ask, shall, no}},
			"and a new answer": {[]pleat.Message{ask, shall, yes, shall, no}, []pleat.Message{ask, shall, no, kept}},
			"and its answer":   {[]pleat.Message{ask, shall, yes, shall, no, kept}, []pleat.Message{ask, shall, no, kept}},
			"the first question": {
				[]pleat.Message{ask, shall, yes, shall, ask, shall, no}, []pleat.Message{ask, shall, no},
			},
			"after calls": {
				[]pleat.Message{ask, poll("1"), polled("1"), shall, yes, shall, no, kept},
				[]pleat.Message{ask, poll("1"), polled("1"), shall, no, kept},
			},
		} {
			s := mustSync(t, open(t, store.NewMemory(), nil), slices.Concat(begin, c.was))
			then := slices.Concat(begin, c.then)
			if next := mustSync(t, s, then); next == s || allText(view(t, next)) != allText(then) {
				t.Errorf("%s: %s shows %s", name, next.Key(), allText(view(t, next)))
			}
		}
	}
	all := []pleat.Message{ask, shall, yes, shall, no, kept, pleat.User("Thanks.")}
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	if next := mustSync(t, s, slices.Concat(all[:2], all[4:], []pleat.Message{say("Anything else?")})); next != s {
		t.Errorf("the newest answer and what was said to it do not tell that messages are missing: %s", next.Key())
	}
}

// TestSyncRepeatedRandom takes back whole histories of few words, where answers say the same all the
// time, or at first, and goes on in as few words: what was taken back is not shown.
func TestSyncRepeatedRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		repeats, answers := []int{1_000, r.IntN(12)}[seed%2], 0
		begin := append([]pleat.Message{system("Be careful.")}[:r.IntN(2)], pleat.User("Go on."))
		all, s := begin, open(t, store.NewMemory(), nil)
		for step := range 30 {
			if r.IntN(3) == 0 {
				all = all[:len(begin)+2*r.IntN((len(all)-len(begin))/2+1)]
			}
			for range 1 + r.IntN(3) {
				answer := say("Shall I?")
				if answers++; answers > repeats {
					answer = say(fmt.Sprint("Answer ", answers))
				}
				all = append(all, answer, pleat.User([]string{"Go on.", "yes", "no"}[r.IntN(3)]))
			}
			given := all[:len(all)-r.IntN(2)]
			if s = mustSync(t, s, given); allText(view(t, s)) != allText(given) {
				t.Fatalf("seed %d, step %d: %s shows\n%s\nwant\n%s",
					seed, step, s.Key(), allText(view(t, s)), allText(given))
			}
		}
	}
}

// TestSyncTakenBack takes a conversation back to where it ends in words that it began with: what
// was said in between is not new.
func TestSyncTakenBack(t *testing.T) {
	all := []pleat.Message{pleat.User("Build it."), say("OK."), pleat.User("Go on.")}
	for i := range 6 {
		id := fmt.Sprint("p", i)
		all = append(all, poll(id), polled(id))
	}
	all = append(all, say("OK."), pleat.User("Go on."))
	for n := 5; n < len(all)-1; n += 2 {
		s := mustSync(t, open(t, store.NewMemory(), nil), all)
		if next := mustSync(t, s, all[:n]); next == s || next.Len() != n || s.Len() != len(all) {
			t.Errorf("%d messages go on in %s, which has %d", n, next.Key(), next.Len())
		}
		edited := append(all[:n:n], say("Another answer."))
		if next := mustSync(t, s, edited); next == s || next.Len() != n+1 {
			t.Errorf("an edit of message %d goes on in %s, which has %d", n, next.Key(), next.Len())
		}
	}
	cleared := append(slices.Clone(all), say("Now the rest."))
	for i := 4; i < len(all)-2; i += 2 {
		cleared[i] = pleat.Results(pleat.Result(fmt.Sprint("p", i/2-2), "[cleared]"))
	}
	s := mustSync(t, open(t, store.NewMemory(), nil), all)
	if next := mustSync(t, s, cleared); next == s || next.Len() != len(cleared) {
		t.Errorf("cleared results go on in %s, which has %d messages", next.Key(), next.Len())
	}
}

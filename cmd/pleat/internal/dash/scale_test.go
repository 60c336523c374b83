package dash

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

// twoThirds makes a session whose provider counts two tokens where pleat counts three.
func twoThirds(t *testing.T, st store.Store, window int) *pleat.Session {
	t.Helper()
	m, _ := model.DefaultModels().Lookup("gpt-5")
	s, err := pleat.OpenSession(t.Context(), st, pleat.Key{Session: "scaled"}, &pleat.Options{
		Model: m, Budget: pleat.Budget{Window: window}, Tools: pleat.RecallTools(), System: "You are an agent.",
	})
	must(t, err)
	must(t, s.Append(t.Context(), pleat.User("Mend the parser.")))
	for i := range 40 {
		id := fmt.Sprint("c", i)
		must(t, s.Append(t.Context(), pleat.Assistant(pleat.Call(id, "read_file", fmt.Sprintf(`{"path":"%d.go"}`, i)))))
		long := strings.Repeat(fmt.Sprintf("func f%d() { return %d }\n", i, i), 120)
		must(t, s.Append(t.Context(), pleat.Results(pleat.Result(id, long))))
		_, err := s.View(t.Context(), pleat.Turn{})
		must(t, err)
		must(t, s.Used(t.Context(), model.Usage{Input: s.Snapshot().Parts.Total() * 2 / 3, Output: 10}))
	}
	return s
}

// Tiles, what fills the window, epochs and the chart with its levels are in the provider's tokens,
// also where they are not pleat's, and the page says so. The list agrees with the page.
func TestOneScale(t *testing.T) {
	st, window := store.NewMemory(), 20_000
	s := twoThirds(t, st, window)
	snap := s.Snapshot()
	if own := snap.Parts.Total(); snap.Epoch < 2 || int(snap.Tokens) > own*3/4 {
		t.Fatalf("epoch %d, %d tokens where pleat counts %d", snap.Epoch, snap.Tokens, own)
	}
	h := newDash(t, st, "")
	page := get(h, "/dash/session?s=scaled").Body.String()
	for _, want := range []string{
		"In the window now</dt><dd>" + text.Short(snap.Tokens) + " <small>of " + text.Short(window) + " tokens",
		"Whole session</dt><dd>" + text.Short(snap.Whole) + " <small>81 messages with system prompt and tools</small>",
		"Folded away</dt><dd>" + text.Short(snap.Whole-snap.Tokens) + " <small>" +
			percent(int(snap.Whole-snap.Tokens), int(snap.Whole)),
		"messages: " + text.Short(snap.Tokens) + " at the end", // of the chart
		"the whole session takes " + text.Short(snap.Whole) + ".",
		"it counts about 0.6", // says which tokens
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	settle(t, h)
	list := get(h, "/").Body.String()
	if want := `data-l="tokens">` + text.Short(snap.Whole) + "</td>"; !strings.Contains(list, want) {
		t.Errorf("the list has no %q", want)
	}
	if want := `data-l="tokens">~` + text.Short(snap.Whole) + "</td>"; strings.Count(list, want) != 2 {
		t.Errorf("agents and projects do not both have %q", want)
	}
	if sum := total(page, "h-parts", `<td class="num">([0-9,]+)</td></tr>`); sum != int(snap.Tokens) {
		t.Errorf("what fills the window adds up to %d, %d are in it", sum, snap.Tokens)
	}
	over := regexp.MustCompile(`scope="row" class="num">[0-9,]+</th><td class="num">([0-9,]+)</td>`)
	epochs := regexp.MustCompile(`data-l="(?:tokens before|after)">([0-9,]+)<`)
	_, after, _ := strings.Cut(page, `id="h-epochs"`)
	after, _, _ = strings.Cut(after, "</section>")
	for _, m := range append(over.FindAllStringSubmatch(page, -1), epochs.FindAllStringSubmatch(after, -1)...) {
		if n := figure(m[1]); n > window {
			t.Errorf("%d tokens in a window of %d", n, window)
		}
	}
}

// total adds up the figures of a section.
func total(page, id, pattern string) (sum int) {
	_, section, _ := strings.Cut(page, id)
	section, _, _ = strings.Cut(section, "</table>")
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(section, -1) {
		sum += figure(m[1])
	}
	return sum
}

func figure(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	return n
}

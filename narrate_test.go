package pleat

import (
	"fmt"
	"strings"
	"testing"
)

// handoff is a short session with what a page has to tell.
func handoff() []Message {
	code := "     1→package limits\n     2→\n     3→// RateLimiter counts calls.\n     4→type RateLimiter struct {\n     5→\tburst_size int\n     6→}\n"
	return []Message{
		User("Please make the RateLimiter safe."),
		Assistant(Say("Let me look at the limiter."), Call("c1", "read_file", `{"path":"src/limits.go"}`)),
		Results(Result("c1", code)),
		Assistant(Call("c2", "edit_file", `{"path":"src/limits.go","old_string":"burst_size int","new_string":"burst_size int\n\tguardMutex sync.Mutex"}`)),
		Results(Result("c2", "The file src/limits.go has been updated.")),
		Assistant(Call("c3", "bash", `{"command":"git commit -am 'Guard the limiter'"}`)),
		Results(Result("c3", "[topic/limits 4dc9e56] Guard the limiter\n 1 file changed")),
		Assistant(Say("The limiter is safe now.\n\n- I used a mutex instead of atomics because `burst_size` and the window change together.\n- `guardMutex` is never held over I/O.")),
		User("That looks right to me, thank you for taking the time to explain how both values belong together. Now the docs, see docs/limits.md."),
		Assistant(Call("c4", "read_file", `{"path":"docs/limits.md"}`)),
		Results(Result("c4", "# Limits\n\nThe RateLimiter is not safe.\n")),
		Assistant(Say("The docs say that it is not safe, which is wrong since 4dc9e56.")),
		User("Then fix them."),
		Assistant(Say("I will.")),
	}
}

func stateOf(msgs []Message) *miner {
	s := &miner{conversation: newConversation(NewTokenizer(Model{}, nil), newContents(NewMemStore(), SessionKey{}, nil, 0))}
	for i, m := range msgs {
		s.add(m, shapesOf(m), keptMessage{seq: uint64(i + 1)})
	}
	return s
}

func pageOf(s *miner, end, room int) pageInput {
	return pageInput{
		s: s, start: s.first, end: end, recall: UnfoldCall, handle: "h", restore: restoring{Files: 5, PerFile: 5_000, Total: 50_000, State: true},
		room: roomOfPage{total: room, files: room, most: 12_000},
	}
}

func TestPageReadsLikeAHandoff(t *testing.T) {
	s := stateOf(handoff())
	got := writePage(pageOf(s, 12, smallRoom)).Text
	last := 0
	for _, want := range []string{
		"Now the docs, see docs/limits.md.",
		"message 8 [" + s.facts[7].blocks[0].name.String() + "], answering 1:",
		"I used a mutex instead of atomics because `burst_size` and the window change together.",
		"which is wrong since 4dc9e56",
		"## What was done (tool calls)",
		"[topic/limits 4dc9e56] Guard the limiter",
		"## What changed in files",
		"+ guardMutex sync.Mutex",
		"### docs/limits.md (read in call 4",
		"### src/limits.go (read in call 1",
		"STALE: changed after that in call 2",
		"search(\"words\")",
	} {
		i := strings.Index(got[last:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or stands too early, in\n%s", want, got)
		}
		last += i
	}
	if strings.Contains(got, "Let me look") {
		t.Errorf("an announcement is on the page:\n%s", got)
	}
}

// A file that the newest turns show is not restored.
func TestRestoreLeavesOutWhatIsShown(t *testing.T) {
	msgs := append(handoff(),
		Assistant(Call("c5", "read_file", `{"path":"src/limits.go"}`)), Results(Result("c5", "package limits\n")))
	s := stateOf(msgs)
	in := pageOf(s, 12, 3000)
	if got := in.files(2000); strings.Contains(got, "src/limits.go") || !strings.Contains(got, "docs/limits.md") {
		t.Errorf("restored:\n%s", got)
	}
}

func TestFocusRaises(t *testing.T) {
	var msgs []Message
	msgs = append(msgs, User("Go."))
	for i := range 40 {
		msgs = append(msgs, User(fmt.Sprintf("Next, number %d.", i)),
			Assistant(Say(fmt.Sprintf("I went with %s because %s must never be %s.", fresh(3*i), fresh(3*i+1), fresh(3*i+2)))))
	}
	msgs[21] = User("And now?")
	msgs[22] = Assistant(Say("Bananas grow upwards in the warm and rainy parts of the world and are carried north by ship in green boxes."))
	in := pageOf(stateOf(msgs), len(msgs), 400)
	if said, _ := in.narrate(200); strings.Contains(said, "Bananas") {
		t.Errorf("without a focus:\n%s", said)
	}
	in.focus = "everything about bananas"
	if said, _ := in.narrate(200); !strings.Contains(said, "Bananas grow upwards") {
		t.Errorf("with a focus:\n%s", said)
	}
}

// fresh makes a word that no other number gives.
func fresh(n int) string {
	return fmt.Sprintf("%c%c%cwordy", 'a'+n/25%25, 'a'+n%25, 'a'+n%25)
}

// Whatever the room, the narrative stays inside it, is the same every time, and says
// nothing that the conversation does not.
func TestNarrateInventsNothing(t *testing.T) {
	s := stateOf(handoff())
	source := flat(s.renderText(0, s.t.Len()))
	for room := 0; room < 900; room += 17 {
		in := pageOf(s, 12, room)
		said, lines := in.narrate(room)
		if n := s.count.CountText(said) + s.count.CountText(lines); n > room {
			t.Errorf("%d tokens in a room of %d", n, room)
		}
		if again, _ := in.narrate(room); again != said {
			t.Errorf("room %d: not the same twice", room)
		}
		for _, line := range excerpts(said + "\n" + lines) {
			if !strings.Contains(source, flat(line)) {
				t.Errorf("room %d: %q is invented", room, line)
			}
		}
	}
}

// excerpts returns what a narrative quotes: its lines without headings and marks.
func excerpts(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "## ") || strings.HasSuffix(line, "):") {
			continue
		}
		if strings.HasPrefix(line, "message ") {
			_, line, _ = strings.Cut(line, ":")
		}
		for part := range strings.SplitSeq(line, "…") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// flat makes all space the same, and takes JSON's escapes out.
func flat(s string) string {
	s = strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`).Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

func TestClipAround(t *testing.T) {
	line := strings.Repeat("before ", 60) + "needle_12345 " + strings.Repeat("after ", 60)
	got := clipAround(line, strings.Index(line, "needle"), 100)
	if len(got) > 110 || !strings.Contains(got, "needle_12345") || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") {
		t.Errorf("got %q", got)
	}
	for _, w := range strings.Fields(strings.Trim(got, "…")) {
		if w != "before" && w != "after" && w != "needle_12345" {
			t.Errorf("%q is cut", w)
		}
	}
}

package bench

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/transcript"
)

// sourceNames are the exact strings of a session, to hold inventions against.
type sourceNames struct {
	text  string
	names map[string]bool
}

func namesOf(msgs []transcript.Message) sourceNames {
	var b strings.Builder
	s := sourceNames{names: make(map[string]bool)}
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			if c, ok := blk.(transcript.ToolCall); ok {
				b.WriteString(c.Name + "\n" + c.ID + "\n" + strings.Join(callKeys(c), "\n") + "\n")
			}
			for _, l := range blockLines(blk) {
				b.WriteString(l)
				b.WriteByte('\n')
			}
			b.WriteString(transcript.BlockText(blk))
			b.WriteByte('\n')
		}
	}
	s.text = b.String()
	names(s.text, func(tok string) { s.names[tok] = true })
	return s
}

var jsonKey = regexp.MustCompile(`"([\w-]+)"\s*:`)

func callKeys(c transcript.ToolCall) []string {
	var out []string
	for _, m := range jsonKey.FindAllStringSubmatch(c.Input.String(), -1) {
		out = append(out, m[1])
	}
	return out
}

// vocabulary are names that a method may use of its own accord.
var vocabulary = []string{"in_progress", "tool_result", "call_id", "original_tokens", "conversation_summary"}

var (
	madePath = regexp.MustCompile(`(?:/?[\w@.+-]+/)+[\w@+-]+\.[a-z]{1,4}\b`)
	pathList = regexp.MustCompile(`[\w/]\{[^{}]*,`) // names that share a folder, as in a/{b,c}
)

// invented are the paths, names and digests in a method's own words that the session
// does not have.
func invented(s *seen, source sourceNames, handle func(string) bool) (named int, out []string) {
	for _, line := range s.own {
		parts := []string{line}
		if pathList.MatchString(line) {
			parts = splitBraces(line)
		}
		for _, part := range parts {
			for _, p := range madePath.FindAllString(part, -1) {
				if named++; !strings.Contains(source.text, p) {
					out = append(out, p)
				}
			}
		}
		names(line, func(tok string) {
			if strings.Trim(tok, "0123456789") == "" || fileToken.MatchString(tok) ||
				slices.Contains(vocabulary, tok) ||
				handle(tok) {
				return // counts of the method's own; files are judged with their folders
			}
			if named++; !source.names[tok] && !strings.Contains(source.text, tok) {
				out = append(out, tok)
			}
		})
	}
	slices.Sort(out)
	return named, slices.Compact(out)
}

var handleArg = regexp.MustCompile(`\b[a-z0-9]{8,12}\b`)

// isHandle reports whether a method gave a word out as a handle. Words without a digit are
// words.
func isHandle(ctx context.Context, rec Recaller, word string) bool {
	if !handleArg.MatchString(word) || !strings.ContainsAny(word, "0123456789") {
		return false
	}
	_, err := rec.Unfold(ctx, word)
	return err == nil
}

func TestInvented(t *testing.T) {
	source := namesOf([]transcript.Message{transcript.User("the retryLimit in src/a.go")})
	_, got := invented(seeText("Edited src/b.go: retryLimit, maxTries"), source, func(string) bool { return false })
	if want := []string{"maxTries", "src/b.go"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

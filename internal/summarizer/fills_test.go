package summarizer_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/corpustest"
	"github.com/pleat-dev/pleat/internal/viewtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

var toldSigns = regexp.MustCompile(`words or ([0-9,]+) characters\)`)

// filler answers with a digest of so many characters as it was told, made of lines of the conversation.
func filler(digests *[]string) *pleattest.Script {
	return &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
		prompt := pleattest.Text(req.Messages)
		room, _ := strconv.Atoi(strings.ReplaceAll(toldSigns.FindStringSubmatch(prompt)[1], ",", ""))
		var lines []string
		all := 0
		for line := range strings.Lines(prompt[:strings.Index(prompt, "</turns")]) {
			if line = strings.TrimSpace(line); len(line) > 60 && len(line) < 400 && !strings.HasPrefix(line, "#") &&
				!strings.ContainsAny(line, "<>[]{}") {
				lines, all = append(lines, line), all+len([]rune(line))+3
			}
		}
		var b strings.Builder
		b.WriteString("### What happened\n")
		chars := 0
		for i, line := range lines { // from all over it
			if chars*all < room*(i+1)*(all/len(lines)) && chars+len([]rune(line)) < room-60 {
				b.WriteString("- " + line + "\n")
				chars += len([]rune(line)) + 3
			}
		}
		b.WriteString("### State, open ends, next step\n- " + lines[len(lines)-1])
		*digests = append(*digests, b.String())
		return pleattest.Say("<digest>\n" + b.String() + "\n</digest>").Reply, nil
	}}
}

// Digests of real sessions that fill the room they were told stand in the view, and the view uses its budget,
// but where the next older turn is too long for what is left: after one compaction, and after each that
// became necessary while the session came in ten parts.
func TestDigestFillsCorpus(t *testing.T) {
	chars, stand, short, digests := 0, 0, 0, 0
	for _, path := range corpustest.Files(t) {
		msgs := corpustest.Read(t, path)
		for _, budget := range []int{8_000, 20_000, 49_000} {
			for _, parts := range []int{1, 10} {
				t.Run(fmt.Sprint(filepath.Base(path), " ", budget, " ", parts), func(t *testing.T) {
					c, s, room := fills(t, msgs, budget, parts)
					chars, stand, short, digests = chars+c, stand+s, short+room, digests+1
				})
			}
		}
	}
	t.Logf("%d of %d characters of %d digests stand; %d views leave more than 3 %%", stand, chars, digests, short)
	if stand*100 < chars*97 || short*5 > digests {
		t.Error("digests that fill their room do not stand, or views do not use theirs")
	}
}

func fills(t *testing.T, msgs []transcript.Message, budget, parts int) (chars, stand, short int) {
	var digests []string
	s := pleattest.Open(t, store.NewMemory(), &pleat.Options{
		Budget: viewtest.Tight(budget),
		Model:  model.Model{ID: "scripted", Window: 2_000_000},
		Digest: digest.Options{Generator: filler(&digests), NoBackground: true, NoFork: true, Calls: -1},
	})
	known, used, view := 0, 0, ""
	for k := range parts {
		pleattest.Append(t, s, msgs[len(msgs)*k/parts:len(msgs)*(k+1)/parts]...)
		shown := pleattest.Text(pleattest.View(t, s))
		if n := len(s.Report().Digests); n > known {
			known, used, view = n, int(s.Report().Snapshot.Tokens), shown
		}
	}
	if known == 0 {
		t.Skip("it needs no digest")
	}
	for line := range strings.Lines(digests[len(digests)-1]) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			chars += len(line)
			if strings.Contains(view, line) {
				stand += len(line)
			}
		}
	}
	if used*100 < budget*97 {
		t.Logf("the view has %d tokens of %d", used, budget)
		short++
	}
	if used*100 < budget*84 || used > budget || stand*100 < chars*90 {
		t.Errorf("the view has %d tokens of %d, and %d of %d characters: %v",
			used, budget, stand, chars, s.Report().Digests[known-1])
	}
	return chars, stand, short
}

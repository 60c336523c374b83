package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/wire"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// ruled is a body that breaks a rule with every "bad".
type ruled string

func (r ruled) Check(model.Model) (out []transcript.Violation) {
	for range strings.Count(string(r), "bad") {
		out = append(out, transcript.Violation{Rule: "bad"})
	}
	return out
}

// Words stand for the rules here: every "bad" breaks one, and "unwritable" cannot be written.
func TestChecker(t *testing.T) {
	most := 0
	check := wire.Checker(model.Model{}, func(r *model.Request) ([]byte, error) {
		most = max(most, len(r.Messages))
		var b strings.Builder
		for _, m := range r.Messages {
			b.WriteString(m.Text() + " ")
		}
		if strings.Contains(b.String(), "unwritable") {
			return nil, errors.New("unwritable")
		}
		return []byte(b.String()), nil
	}, func(body []byte) (ruled, error) { return ruled(body), nil })
	page := func(text string, last int) transcript.View {
		return transcript.View{
			Messages: []transcript.ViewMessage{{Source: -1, Made: transcript.User(text)}, {Source: last}},
		}
	}
	for _, c := range []struct {
		name  string
		said  []string
		page  string
		legal bool
		most  int // messages that are written at once
	}{
		{"all is well", []string{"a", "b", "c", "d"}, "page", true, 2},
		{"the transcript is wrong where the view does not show it", []string{"bad", "b", "c", "d"}, "page", true, 2},
		{"the view is wrong", []string{"a", "b", "c", "d"}, "bad", false, 4},
		{"both are wrong", []string{"a", "b", "bad", "bad"}, "page", true, 4},
		{"the view is worse", []string{"a", "b", "c", "bad"}, "bad", false, 4},
		{"the view cannot be written", []string{"a", "b", "c", "d"}, "unwritable", false, 4},
		{"the transcript cannot be written", []string{"unwritable", "b", "c", "d"}, "bad", true, 4},
		{"neither can be written", []string{"a", "b", "c", "unwritable"}, "page", true, 4},
	} {
		tr := transcript.NewTranscript()
		for _, text := range c.said {
			tr.Append(transcript.User(text))
		}
		most = 0
		err := check(page(c.page, len(c.said)-1), tr)
		if c.legal != (err == nil) || err != nil && !errors.Is(err, transcript.ErrIllegal) {
			t.Errorf("%s: %v", c.name, err)
		}
		if most != c.most {
			t.Errorf("%s: %d messages were written at once, want %d", c.name, most, c.most)
		}
	}
}

package lineage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// messageList is a session of these messages.
type messageList []transcript.Message

func (l messageList) Len() int { return len(l) }

func (l messageList) Message(_ context.Context, i int) (transcript.Message, error) { return l[i], nil }

func user(text string) string { return `{"role":"user","content":"` + text + `"}` }

func answer(text string) string { return `{"role":"assistant","content":"` + text + `"}` }

const (
	called  = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"bash","input":{}}]}`
	result  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"a long result of the call"}]}`
	cleared = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1",` +
		`"content":"[Old tool result content cleared]"}]}`
	unfolds = `{"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"unfold","input":{}}]}`
	timed   = `{"role":"user","content":[{"type":"text","text":"go on"},{"type":"text","text":"It is five."}]}`
	folded  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":"what was folded"}]}`
)

func requestOf(t *testing.T, list ...string) *protocol.Request {
	t.Helper()
	body := `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
	r, err := NewCache(1<<30).Read(protocol.Messages, "", []byte(body), takeAll)
	difftest.Must(t, err)
	return r
}

// TestFind places requests in a session that had the request [hello], an answer with a hidden round, and
// the request [hello, done, go on], whose answer called a tool.
func TestFind(t *testing.T) {
	hello, done := user("hello"), answer("done")
	more := `{"role":"user","content":[{"type":"text","text":"go on"}]}`
	session := []string{hello, unfolds, folded, done, more, called, result}
	mode := Mode{Recall: RecallByTools}
	for name, tt := range map[string]struct {
		session   int // its first messages are there
		open      bool
		resume    bool
		request   []string
		client    int
		at        int
		aliases   []Alias
		diverged  bool
		continues int    // an earlier request of so many messages
		last      string // in place of the session's last message
		back      string // what is taken back
	}{
		"the next request": {
			session: 5, request: []string{hello, done, more, called, result}, client: 3, at: 5, continues: 3,
		},
		"with what was hidden": {
			session: 4, request: []string{hello, done, more},
			client: 2, at: 4, aliases: []Alias{{1, 1, 1, 4}}, continues: 1,
		},
		"after another answer": {
			session: 4, request: []string{hello, answer("no"), more},
			client: 1, at: 1, diverged: true, continues: 1,
		},
		"again": {
			session: 1, request: []string{hello},
			client: 1, at: 1, continues: 1,
		},
		"again after the answer": {
			session: 4, request: []string{hello},
			client: 1, at: 1, diverged: true, continues: 1,
		},
		"again before it has ended": {
			session: 3, open: true, resume: true, request: []string{hello},
			client: 1, at: 3, aliases: []Alias{{1, 0, 1, 3}}, continues: 1,
		},
		"and that is not to go on": {
			session: 3, open: true, request: []string{hello},
			client: 1, at: 1, diverged: true, continues: 1,
		},
		"a result that was cleared": {
			session: 7, request: []string{hello, done, more, called, cleared},
			client: 5, at: 7, aliases: []Alias{{4, 1, 6, 7}}, continues: 3,
		},
		"a result that was replaced": {
			session: 7, request: []string{hello, done, more, called, user("no")},
			client: 4, at: 6, diverged: true, continues: 3,
		},
		"without what was added to the newest message": {
			session: 5, last: timed, request: []string{hello, done, more, called, result},
			client: 3, at: 5, back: "5+0 again", continues: 1, aliases: []Alias{{1, 1, 1, 4}},
		},
		"without a message after the newest": {
			session: 6, last: user("It is five."), request: []string{hello, done, more, called, result},
			client: 3, at: 5, back: "5+1", continues: 1, aliases: []Alias{{1, 1, 1, 4}},
		},
		"without one, and with another answer before": {
			session: 6, last: user("It is five."), request: []string{hello, answer("no"), more, called, result},
			client: 1, at: 1, diverged: true, continues: 1,
		},
		"something else asked": {
			session: 5, last: user("no"), request: []string{hello, done, more},
			client: 2, at: 4, diverged: true, continues: 1, aliases: []Alias{{1, 1, 1, 4}},
		},
		"another beginning": {session: 7, request: []string{more, done}, diverged: true},
	} {
		t.Run(name, func(t *testing.T) {
			track := NewTrack("tenant")
			have := messageList(requestOf(t, session...).Messages[:tt.session])
			if tt.last != "" {
				have = append(have[:tt.session-1:tt.session-1], requestOf(t, tt.last).Messages...)
			}
			said := SaidHash(requestOf(t, done).Messages, mode.Own)
			reply := &Reply{From: 1, To: 4, Said: said}
			if tt.open {
				reply = &Reply{From: 1, To: 3, Open: true}
			}
			marks := []Mark{
				{Mode: mode, Client: 1, At: 1, Hash: requestOf(t, hello).Prefixes[0].String()},
				{Mode: mode, Reply: reply},
			}
			if tt.session > 4 && tt.last == "" {
				marks = append(marks, Mark{
					Mode: mode, Client: 3, At: 5, Hash: requestOf(t, hello, done, more).Prefixes[2].String(),
					Aliases: []Alias{{1, 1, 1, 4}},
				})
			}
			for i, m := range marks {
				m.Seq = uint64(i + 1)
				track.Take(m, time.Time{})
			}
			p, err := track.Find(t.Context(), have, requestOf(t, tt.request...), tt.resume)
			if errors.Is(err, ErrDiverged) != tt.diverged || err != nil && !tt.diverged {
				t.Fatal(err)
			}
			back := ""
			if !p.Back.IsZero() && err == nil {
				back = fmt.Sprint(p.Back.From, "+", p.Back.Count)
			}
			if p.Back.Again != nil {
				back += " again"
			}
			if back != tt.back {
				t.Errorf("it takes back %q, want %q", back, tt.back)
			}
			if p.Client != tt.client || p.At != tt.at || !slices.Equal(p.Aliases, tt.aliases) || p.Mark.Client != tt.continues {
				t.Errorf("it is at %d of the client's and %d of the session's messages, with %v, after %d",
					p.Client, p.At, p.Aliases, p.Mark.Client)
			}
		})
	}
}

// The map from the session's messages to the client's knows what the client has not.
func TestTrackClient(t *testing.T) {
	track := NewTrack("tenant")
	hash := transcript.HashOf("one").String()
	for _, m := range []Mark{
		{Hash: hash, Client: 1, At: 1},
		{Hash: hash, Client: 3, At: 5, Aliases: []Alias{{1, 1, 1, 4}}},
		{Hash: hash, Client: 5, At: 7},
		{Hash: hash, Client: 6, At: 8, Aliases: []Alias{{4, 1, 6, 7}}},
	} {
		track.Take(m, time.Time{})
	}
	if want := []int{0, -1, -1, -1, 2, 3, -1, 5}; !slices.Equal(track.Client, want) {
		t.Errorf("%v, want %v", track.Client, want)
	}
}

// Of two names for our tools the longer is the newer one, in whatever order they are read.
func TestTrackRename(t *testing.T) {
	track := NewTrack("tenant")
	for _, prefix := range []string{"", ToolPrefix, ""} {
		track.Take(Mark{Mode: Mode{Recall: RecallByTools, Prefix: prefix}}, time.Time{})
	}
	if track.Mode.Prefix != ToolPrefix || !track.Renamed {
		t.Errorf("the prefix is %q, renamed: %t", track.Mode.Prefix, track.Renamed)
	}
}

package match_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/match"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// messages reads a history, a word for each message: S a system message, u and a words of the user and
// of the assistant, c calls with these ids, r their results, and the page of a fold. "c1,2" are two calls in one message,
// "r1=x" is a result that says x, "r1+u2" a result and words in one message, "c1:i" a call with the input i.
func messages(history string) (list []transcript.Message) {
	roles := map[byte]transcript.Role{
		'S': transcript.RoleSystem, 'u': transcript.RoleUser, 'a': transcript.RoleAssistant,
		'c': transcript.RoleAssistant, 'r': transcript.RoleTool, 'p': transcript.RoleUser,
	}
	for _, word := range strings.Fields(history) {
		role, blocks := roles[word[0]], []transcript.Block(nil)
		for _, part := range strings.Split(word, "+") {
			for _, one := range strings.Split(part[1:], ",") {
				switch part[0] {
				case 'c':
					id, input, _ := strings.Cut(one, ":")
					blocks = append(blocks, transcript.Call(id, "status", "{"+input+"}"))
				case 'r':
					id, text, _ := strings.Cut(one, "=")
					blocks = append(blocks, transcript.Result(id, strings.ReplaceAll(text, "_", " ")))
				default:
					blocks = append(blocks, transcript.Say(one))
				}
			}
			if part[0] == 'u' {
				role = transcript.RoleUser
			}
		}
		list = append(list, transcript.NewMessage(role, blocks...))
	}
	return list
}

// state is a conversation, folded as in a row of the table.
func state(t *testing.T, was string, folds ...[2]int) *epoch.State {
	t.Helper()
	msgs := messages(was)
	st := epoch.New(conv.Of(tokens.NewTokenizer(model.Model{}, nil), msgs...), fold.Parts{})
	for i, at := range folds {
		f := &fold.Fold{ID: i + 1, Start: at[0], End: at[1], Block: -1, Stub: fmt.Sprint("age", i+1)}
		if at[0] == at[1] { // one result
			f.End, f.Block, f.Stub = at[1]+1, 0, "stub"
		}
		d := epoch.Data{Epoch: i + 1, Messages: at[1], Folds: []*fold.Fold{f}, InForce: []int{i + 1}}
		if i == 0 || at[0] == at[1] {
			d.Messages = len(msgs)
		}
		difftest.Must(t, st.Enter(d))
	}
	return st
}

// TestMeet has a row for each case: a conversation, its folds, a history, and how they meet. "+2" says that
// two messages of the history are new, "-3" that message 3 is taken back, "3/4" that they part behind three messages
// of the conversation and four of the history; "epoch" that the fork gets one.
func TestMeet(t *testing.T) {
	for _, tt := range []struct {
		name, was, now, want string
		folds                [][2]int
	}{
		{name: "nothing yet", was: "", now: "u1 a2", want: "+2"},
		{name: "system messages alone", was: "S", now: "S u1", want: "+1"},
		{name: "the same", was: "S u1 a2", now: "S u1 a2", want: "+0"},
		{name: "longer", was: "u1 a2", now: "u1 a2 u3 a4", want: "+2"},
		{name: "another system message", was: "Sx u1 a2", now: "Sy Sz u1 a2 u3", want: "+1"},
		{name: "words added", was: "u1", now: "u1 u2", want: "+1"},
		{name: "an answer that says more", was: "u1 a2", now: "u1 a2,3", want: "+1"},
		{name: "one message less", was: "u1 a2 u3 a4", now: "u1 a2", want: "2/2"},
		{name: "edited", was: "u1 a2 u3 a4", now: "u1 a2 u3 ax", want: "3/3"},
		{name: "left out in the middle", was: "u1 a2 u3 a4 u5 a6 u7 a8", now: "u1 a2 u3 a8", want: "3/3"},
		{name: "first words edited", was: "u1 a2 u3 a4", now: "ux a2 u3 a4 u5", want: "0/0 edited"},
		{name: "another conversation", was: "u1 a2", now: "ux ay", want: "0/0"},

		{name: "results", was: "u1 c1,2 r1=a r2=b", now: "u1 c1,2 r2=b,1=a a3", want: "+1"},
		{name: "results with words", was: "u1 c1 r1=a", now: "u1 c1 r1=a+u2", want: "+1"},
		{name: "the rest of the results", was: "u1 c1,2 r1=a", now: "u1 c1,2 r2=b r1=a", want: "+1"},
		{name: "another result", was: "u1 c1 r1=a", now: "u1 c1 r1=b", want: "2/2"},
		{name: "another result of two", was: "u1 c1,2 r1=a r2=b", now: "u1 c1,2 r1=a r2=x", want: "3/3"},
		{name: "order of keys", was: `u1 c1:"a":1 r1`, now: `u1 c1:"a":1.0 r1`, want: "1/1"},
		{name: "another input", was: `u1 c1:"a":1 r1`, now: `u1 c1:"a":2 r1`, want: "1/1"},
		{name: "cleared", was: "u1 c1 r1=a a2", now: "u1 c1 r1=[Old_tool_result_content_cleared] a2 u3", want: "+1"},
		{name: "cleared, by nobody", was: "u1 c1 r1=a a2", now: "u1 c1 r1=[gone] a2 u3", want: "2/2"},

		{name: "other ids", was: "u1 c1 r1=a a2", now: "u1 cx rx=a a2 u3", want: "+1"},
		{name: "other ids, two calls", was: "u1 c1,2 r1=a r2=b a2", now: "u1 c2,1 r2=a r1=b a2", want: "+0"},
		{name: "other ids, other order", was: "u1 c1,2 r1=a r2=b", now: "u1 cx,y ry=a rx=b", want: "1/1"},
		{name: "the id of a call that waits", was: "u1 c1", now: "u1 cx rx=a", want: "1/1"},
		{name: "ids that two calls have", was: "u1 c1 r1=a c1 r1=a", now: "u1 c1 r1=a a2", want: "3/3"},

		{name: "window", was: "u1 a2 u3 a4", now: "u3 a4 u5", want: "+1"},
		{name: "window, first question", was: "u1 a2 u3 a4", now: "u1 u3 a4 u5", want: "+1"},
		{name: "window, first exchange", was: "u1 a2 u3 a4 u5 a6", now: "u1 a2 u5 a6 u7", want: "+1"},
		{name: "window, first exchange with calls", was: "u1 c1 r1 a2 u3 a4 u5 a6", now: "u1 c1 r1 a2 u5 a6 u7", want: "+1"},
		{name: "window, exchange of other ids", was: "u1 c1 r1 a2 u3 a4 u5 a6", now: "u1 cx rx a2 u5 a6 u7", want: "+1"},
		{name: "window that begins in a turn", was: "u1 c1,2 r1=a r2=b a2", now: "r2=b a2 u3", want: "+1"},
		{name: "window of calls", was: "u1 c1 r1=a c2 r2=a", now: "c2 r2=a c3", want: "+1"},
		{name: "window of polls", was: "u1 c1 r1 c2 r2 c3 r3", now: "u1 c3 r3 c4 r4", want: "+2"},
		{name: "window of one turn", was: "u1 a2 u3", now: "u3 a4", want: "0/0"},
		{name: "window, edited", was: "u1 a2 u3 a4 u5 a6", now: "u3 a4 u5 ax", want: "0/0"},
		{name: "window, other ids", was: "u1 c1 r1=a c2 r2=a", now: "cx rx=a cy ry=a", want: "0/0"},
		{name: "said again", was: "u1 a2 u3 a2 u4", now: "u1 a2 u4 a5", want: "2/2"},
		{name: "said again, all", was: "u1 a2 u3 a2 u1 a2 u4", now: "u1 a2 u4", want: "2/2"},
		{name: "said again, with its answer", was: "u1 a2 u3 a2 u4 a5", now: "u1 a2 u4 a5", want: "2/2"},
		{name: "said again, and an answer", was: "u1 a2 u3 a2 u4 a5 u6", now: "u1 a2 u4 a5 u6 a7", want: "+1"},
		{name: "a repeated window", was: "ux a1 u2 a1 u2", now: "a1 u2 a1 u2 a3", want: "+1"},

		{name: "replaced", was: "u1 a2 u3 uT", now: "u1 a2 u3 a4 u5 uT2", want: "-3 +3"},
		{name: "replaced behind results", was: "u1 c1 r1 uT", now: "u1 c1 r1 c2 r2 uT2", want: "-3 +3"},
		{name: "replaced, before the question", was: "u1 a2 uT u3", now: "u1 a2 u3 a4", want: "-2 +1"},
		{name: "replaced, two", was: "u1 a2 uT uU", now: "u1 a2 a4", want: "-2,3 +1"},
		{name: "replaced, answered", was: "u1 uT a2", now: "u1 a2 u3", want: "-1 +1"},
		{name: "replaced, answered with calls", was: "u1 a2 u3 uT c1 r1", now: "u1 a2 u3 c1 r1 a4", want: "-3 +1"},
		{name: "replaced, in a window", was: "u1 a2 u3 a4 u5 uT", now: "u3 a4 u5 a6 uT2", want: "-5 +2"},
		{name: "replaced, a system message", was: "S u1 a2 u3 S", now: "S u1 a2 u3 a4 S", want: "-4 +2"},
		{name: "replaced, a system message behind results", was: "u1 c1 r1 S", now: "u1 c1 r1 c2 r2 S", want: "-3 +3"},
		{name: "replaced beside a result", was: "u1 c1 r1=a+u2,T", now: "u1 c1 r1=a+u2 a3 u4", want: "cut +2"},
		{name: "replaced beside a result and behind it", was: "u1 c1 r1=a+u2,T uU", now: "u1 c1 r1=a+u2 a3", want: "cut -3 +1"},
		{name: "replaced in a result", was: "u1 c1 r1=a_time", now: "u1 c1 r1=a c2 r2=b_time", want: "cut +2"},
		{name: "replaced in a result, answered", was: "u1 c1 r1=a_time a2", now: "u1 c1 r1=a a2 u3", want: "+1"},
		{name: "a result that is another", was: "u1 c1 r1=a_time", now: "u1 c1 r1=b a2", want: "2/2"},
		{name: "replaced in a result that is folded", was: "u1 c1 r1=a_time", folds: [][2]int{{2, 2}}, now: "u1 c1 r1=a a2", want: "+1"},
		{name: "taken back", was: "u1 a2 u3", now: "u1 a2", want: "-2 +0"},
		{name: "asked otherwise", was: "u1 a2 u3", now: "u1 a2 ux", want: "-2 +1"},
		{name: "answered twice", was: "u1 a2 u3 uT a4 u5 a6", now: "u1 a2 u3 a4 u5 a6", want: "3/3"},
		{name: "nothing would be left", was: "u1", now: "ux a2", want: "0/0"},
		{name: "results are no words", was: "u1 c1 r1", now: "u1 c1 a2", want: "2/2"},

		{name: "view", was: "u1 a2 u3 a4 u5", folds: [][2]int{{1, 3}}, now: "u1 page1 a4 u5 a6", want: "+1"},
		{name: "view, edited behind its epoch", was: "u1 a2 u3 a4 u5", folds: [][2]int{{1, 3}}, now: "u1 page1 ax", want: "3/2 epoch"},
		{name: "view, window", was: "u1 a2 u3 a4 u5", folds: [][2]int{{1, 3}}, now: "page1 a4 u5 a6", want: "+1"},
		{name: "view of the first epoch", was: "u1 a2 u3 a4 u5", folds: [][2]int{{1, 3}, {3, 4}}, now: "u1 page1 a4 u5 a6", want: "+1"},
		{name: "view with a stub", was: "u1 c1 r1=long a2", folds: [][2]int{{2, 2}}, now: "u1 c1 r1=stub a2 u3", want: "+1"},
		{name: "view, replaced", was: "u1 a2 u3 a4 u5 uT", folds: [][2]int{{1, 3}}, now: "u1 page1 a4 u5 a6", want: "-5 +1"},
		{name: "folded is not taken back", was: "u1 a2 uT a4", folds: [][2]int{{1, 3}}, now: "u1 a2 a4 u5", want: "2/2"},
		{name: "whole, though folded", was: "u1 a2 u3 a4 u5", folds: [][2]int{{1, 3}}, now: "u1 a2 u3 a4 u5 a6", want: "+1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := match.Read(messages(tt.now))
			m, err := match.Meet(state(t, tt.was, tt.folds...), h)
			difftest.Must(t, err)
			got := fmt.Sprint("+", len(m.Rest))
			switch {
			case m.Diverges:
				got = fmt.Sprintf("%d/%d", m.Own, m.Theirs)
			case m.Back.Len() == 1:
				got = fmt.Sprintf("-%d %s", m.Back.Start, got)
			case m.Back.Len() > 1:
				got = fmt.Sprintf("-%d,%d %s", m.Back.Start, m.Back.End-1, got)
			}
			if m.Epoch != nil {
				got += " epoch"
			}
			if m.Edited {
				got += " edited"
			}
			if m.Again != nil {
				got = "cut " + got
			}
			if got != tt.want {
				t.Errorf("%q and then %q meet as %s, want %s", tt.was, tt.now, got, tt.want)
			}
			if reason := m.Reason(h); m.Diverges == (reason == "") {
				t.Errorf("the reason is %q", reason)
			}
		})
	}
}

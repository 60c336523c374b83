package lineage

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

type readerOf struct{ messageList }

func (readerOf) Close() error { return nil }

// archived is a store with the session old, whose client named it c and whose model said a line.
func archived(t *testing.T, from Caller, old *protocol.Request, line string) Archive {
	t.Helper()
	st, key := store.NewMemory(), store.SessionKey{Tenant: from.Scope.Tenant, Session: "old"}
	request := Mark{
		Mode: Mode{Recall: RecallByTools}, Hash: old.Prefixes[0].String(), Client: 1, At: 1, Before: "older",
	}
	heard := Mark{Mode: Mode{Recall: RecallByTools}}
	var entries []store.Entry
	add := func(m Mark, labels ...string) {
		for _, label := range labels {
			entries = append(entries, store.Entry{Kind: store.EntryPrefix, Label: label, Data: m.Encode()})
		}
	}
	add(request, append(from.Names(old), from.Scope.Label(old.Prefixes[len(old.Prefixes)-1]))...)
	add(heard, from.SaidLabels(line, 4, nil)...)
	if _, err := st.Append(t.Context(), key, 0, entries...); err != nil {
		t.Fatal(err)
	}
	return Archive{st, func(context.Context, store.SessionKey, *protocol.Request) (Reader, error) {
		return readerOf{messageList(old.Messages)}, nil
	}}
}

// A new conversation continues the one of which the client says so, has kept a call, or begins with what
// the model said; nothing else proves it.
func TestBefore(t *testing.T) {
	const line = "The summary of all the work: twelve of the steps are done and each of the values was right."
	const second = "What is left to do are the other steps, in this order, and then an answer with the values."
	const long = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_0123456789","name":"bash","input":{}}]}`
	const done = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_0123456789","content":"ok"}]}`
	const tools = `],"tools":[{"name":"bash","input_schema":{"type":"object"}}],"x":[`
	from := Caller{Scope: Scope{Tenant: "t", Upstream: "up", Format: transcript.FormatAnthropic}, Hint: "c"}
	unnamed := from
	unnamed.Hint = ""
	a := archived(t, from, requestOf(t, user("hello"), long, done+tools), line+"\n"+second)
	for name, tt := range map[string]struct {
		from     Caller
		messages []string
		none     bool
		told     bool
		kept     bool
	}{
		"its name":    {from: from, messages: []string{user("something else")}},
		"no name":     {from: unnamed, messages: []string{user("something else")}, none: true},
		"the summary": {from: unnamed, messages: []string{user("Go on. " + `\n` + line + `\n` + second)}, told: true},
		"one line":    {from: unnamed, messages: []string{user(line)}, none: true},
		"a kept call": {from: unnamed, messages: []string{user("Go on."), long, done + tools}, kept: true},
		"another call": {
			from: unnamed, messages: []string{user("Go on."), strings.Replace(long, "0123", "3210", 1) + tools}, none: true,
		},
	} {
		got, err := a.Before(t.Context(), tt.from, requestOf(t, tt.messages...))
		difftest.Must(t, err)
		if (got == nil) != tt.none || got != nil && (got.Told != tt.told || got.Kept != tt.kept || got.Key.Session != "old") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	key, err := a.BeforeOf(t.Context(), store.SessionKey{Tenant: "t", Session: "old"})
	if err != nil || key.Session != "older" {
		t.Errorf("it continues %q, %v", key.Session, err)
	}
	if _, err := a.BeforeOf(t.Context(), store.SessionKey{Tenant: "t", Session: "new"}); err == nil {
		t.Error("a session that is not there continues something")
	}
}

// The store finds the session with the longest prefix of a conversation.
func TestLongest(t *testing.T) {
	from := Caller{Scope: Scope{Tenant: "t", Upstream: "up", Format: transcript.FormatAnthropic}}
	list := []string{user("hello")}
	a := archived(t, from, requestOf(t, list...), "")
	for range 50 {
		list = append(list, answer("and"), user("so on"))
	}
	prefixes := requestOf(t, list...).Prefixes
	for least, want := range []string{"old", ""} {
		if key, err := a.Longest(t.Context(), from.Scope, prefixes, least); err != nil || key.Session != want {
			t.Errorf("beyond %d messages: %q, %v", least, key.Session, err)
		}
	}
}

func TestHint(t *testing.T) {
	for _, tt := range []struct {
		header map[string]string
		id     string
		child  bool
	}{
		{nil, "", false},
		{map[string]string{"X-Claude-Code-Session-Id": "one"}, "one", false},
		{map[string]string{"X-Claude-Code-Session-Id": "one", "X-Claude-Code-Agent-Id": "two"}, "one/two", true},
		{map[string]string{"Session_id": "one", "X-Parent-Session-Id": "none"}, "one", true},
	} {
		h := make(http.Header)
		for k, v := range tt.header {
			h.Set(k, v)
		}
		if id, child := Hint(h); id != tt.id || child != tt.child {
			t.Errorf("%v: %q, %t", tt.header, id, child)
		}
	}
}

package transcript_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/transcript"
)

func ExampleTranscript() {
	t := transcript.NewTranscript(
		transcript.User("Which Go version does this use?"),
		transcript.Assistant(transcript.Call("c1", "read_file", `{"path":"go.mod"}`)),
		transcript.Results(transcript.Result("c1", "module example\n\ngo 1.26\n")),
	)
	r := t.Rounds()[0]
	fmt.Println(t.Len(), "messages; round", r.Start, "to", r.End, "open:", r.Open())
	// Output: 3 messages; round 1 to 3 open: false
}

// call and result refs are written as message.block.
func TestRounds(t *testing.T) {
	a, u := transcript.Assistant, transcript.User
	call := func(id string) transcript.Block { return transcript.Call(id, "bash", `{}`) }
	res := func(ids ...string) transcript.Message {
		var rs []transcript.ToolResult
		for _, id := range ids {
			rs = append(rs, transcript.Result(id, "ok"))
		}
		return transcript.Results(rs...)
	}
	tests := []struct {
		name    string
		msgs    []transcript.Message
		want    []string
		orphans int
	}{
		{"none", []transcript.Message{u("hi"), a(transcript.Say("hello"))}, nil, 0},
		{"one", []transcript.Message{u("hi"), a(call("1")), res("1")}, []string{"1-3 1@1.0=2.0"}, 0},
		{
			"parallel calls, one message of results",
			[]transcript.Message{a(transcript.Say("look"), call("1"), call("2")), res("2", "1")},
			[]string{"0-2 1@0.1=1.1 2@0.2=1.0"},
			0,
		},
		{
			"parallel calls, results in messages of their own",
			[]transcript.Message{a(call("1"), call("2")), res("1"), res("2"), u("go on")},
			[]string{"0-3 1@0.0=1.0 2@0.1=2.0"},
			0,
		},
		{
			"one answer in several elements",
			[]transcript.Message{u("x"), a(transcript.Thinking{}), a(call("1")), a(call("2")), res("1"), res("2")},
			[]string{"1-6 1@2.0=4.0 2@3.0=5.0"},
			0,
		},
		{"unanswered", []transcript.Message{a(call("1")), u("stop")}, []string{"0-1 1@0.0=open"}, 0},
		{
			"late result, after other people spoke",
			[]transcript.Message{a(call("1")), u("wait"), a(call("2")), res("2"), res("1")},
			[]string{"0-5 1@0.0=4.0", "2-4 2@2.0=3.0"},
			0,
		},
		{"orphan", []transcript.Message{u("x"), res("9")}, nil, 1},
		{"second answer", []transcript.Message{a(call("1")), res("1"), res("1")}, []string{"0-2 1@0.0=1.0"}, 1},
		{
			"id used again after the first call was abandoned",
			[]transcript.Message{a(call("1")), u("again"), a(call("1")), res("1")},
			[]string{"0-1 1@0.0=open", "2-4 1@2.0=3.0"},
			0,
		},
		{
			"the same id twice in one answer",
			[]transcript.Message{a(call("1"), call("1")), res("1", "1")},
			[]string{"0-2 1@0.0=1.0 1@0.1=1.1"},
			0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := transcript.NewTranscript()
			for _, m := range tt.msgs {
				tr.Append(m) // one at a time: rounds must not depend on batches
			}
			difftest.Equal(t, tt.want, rounds(tr), "rounds")
			if got := len(tr.Orphans()); got != tt.orphans {
				t.Errorf("orphans = %d, want %d", got, tt.orphans)
			}
		})
	}
}

func rounds(tr *transcript.Transcript) []string {
	var out []string
	for _, r := range tr.Rounds() {
		s := fmt.Sprintf("%d-%d", r.Start, r.End)
		for _, c := range r.Calls {
			s += fmt.Sprintf(" %s@%d.%d=", c.ID, c.Call.Message, c.Call.Block)
			if c.Answered {
				s += fmt.Sprintf("%d.%d", c.Result.Message, c.Result.Block)
			} else {
				s += "open"
			}
		}
		out = append(out, s)
	}
	return out
}

// Appending a round costs the same at the end of a long transcript as at its start.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("after-%d", n), func(b *testing.B) {
			tr := transcript.NewTranscript()
			add := func(i int) {
				id := fmt.Sprint(i)
				tr.Append(transcript.Assistant(transcript.Call(id, "bash", `{}`)),
					transcript.Results(transcript.Result(id, "ok")))
			}
			for i := range n {
				add(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				add(n + i)
			}
		})
	}
}

func TestContent(t *testing.T) {
	tests := []struct{ literal, text string }{
		{`""`, ""},
		{`"plain"`, "plain"},
		{`"a\nb\u00e9\/"`, "a\nbé/"},
		{`"cut \ud83d"`, "cut \ufffd"},
		{`"\ud83d\ude00"`, "😀"},
	}
	for _, tt := range tests {
		c := transcript.Literal(tt.literal)
		if got := c.String(); got != tt.text {
			t.Errorf("Literal(%s).String() = %q, want %q", tt.literal, got, tt.text)
		}
		if got := c.Literal(); got != tt.literal {
			t.Errorf("Literal(%s).Literal() = %s", tt.literal, got)
		}
		if got := c.IsEmpty(); got != (tt.text == "") {
			t.Errorf("Literal(%s).IsEmpty() = %v", tt.literal, got)
		}
	}
	if got := transcript.Plain("a\"<b>\n").Literal(); got != `"a\"<b>\n"` {
		t.Errorf("Plain.Literal() = %s", got)
	}
}

func TestBlocksText(t *testing.T) {
	b := transcript.BlocksOf(transcript.Say("one"), transcript.Image{}, transcript.Say("two"), transcript.Say(""),
		transcript.Say("three"))
	if got, want := b.Text(), "one\ntwo\n\nthree"; got != want {
		t.Errorf("Text() = %q, want %q", got, want)
	}
	if got := (transcript.Blocks{}).Text(); got != "" {
		t.Errorf("empty Text() = %q", got)
	}
}

func TestMessageCalls(t *testing.T) {
	m := transcript.Assistant(
		transcript.Say("I will look."),
		transcript.Call("c1", "read_file", `{"path":"go.mod"}`),
		transcript.Say("And list."),
		transcript.Call("c2", "bash", `{"command":"ls"}`),
	)
	var got []string
	for _, c := range m.Calls() {
		got = append(got, c.ID+" "+c.Name+" "+c.Input.String())
	}
	want := []string{`c1 read_file {"path":"go.mod"}`, `c2 bash {"command":"ls"}`}
	difftest.Equal(t, want, got, "calls")
	for _, m := range []transcript.Message{
		{}, transcript.User("hi"), transcript.Results(transcript.Result("c1", "ok")),
	} {
		if calls := m.Calls(); calls != nil {
			t.Errorf("%s message has calls %v", m.Role(), calls)
		}
	}
}

func TestChain(t *testing.T) {
	a, b, c := transcript.HashOf("a"), transcript.HashOf("b"), transcript.HashOf("c")
	abc, abb, bac := transcript.Chain(transcript.Hash{}, []transcript.Hash{
		a, b, c,
	}), transcript.Chain(transcript.Hash{}, []transcript.Hash{
		a, b,
		b,
	}), transcript.Chain(transcript.Hash{}, []transcript.Hash{b, a, c})
	if abc[0] != abb[0] || abc[1] != abb[1] {
		t.Error("equal prefixes have different hashes")
	}
	if abc[2] == abb[2] || abc[1] == bac[1] || abc[2] == bac[2] {
		t.Error("different prefixes have equal hashes")
	}
	if got, err := transcript.ParseHash(abc[2].String()); err != nil || got != abc[2] {
		t.Errorf("ParseHash(String()) = %v, %v", got, err)
	}
	for _, bad := range []string{"", "abc", abc[0].String()[:62] + "zz"} {
		if _, err := transcript.ParseHash(bad); err == nil {
			t.Errorf("ParseHash(%q) succeeded", bad)
		}
	}
}

func TestMessageJSON(t *testing.T) {
	bad := "not \xff UTF-8"
	m := transcript.WireMessage(transcript.RoleAssistant, transcript.FormatAnthropic, `{"role":"assistant","x":1.0}`,
		transcript.Text{Text: transcript.Plain(bad), Raw: `{"type":"text"}`},
		transcript.Thinking{Text: transcript.Plain("hm"), Signature: "c2ln", Redacted: true, Stays: true},
		transcript.Call("c1", "bash", `{"command":"ls"}`),
		transcript.ToolResult{
			CallID: "c1", Error: true,
			Parts: transcript.BlocksOf(transcript.Say(bad),
				transcript.Image{MediaType: "image/png", Data: transcript.Plain("AAAA"), Detail: "low"}),
		},
		transcript.Image{URL: "file:x"},
		transcript.Opaque{Type: "document", Raw: `{"type":"document"}`},
	).WithOrigin(transcript.OriginTyped)
	data, err := json.Marshal(m)
	difftest.Must(t, err)
	var got transcript.Message
	difftest.Must(t, json.Unmarshal(data, &got))
	if !reflect.DeepEqual(m, got) {
		t.Errorf("round trip:\n%s\ngot  %+v\nwant %+v", data, got, m)
	}
	for _, broken := range []string{
		`{`, `{"blocks":[{"kind":"nonsense"}]}`,
		`{"blocks":[{"kind":"tool_result","parts":[{"kind":""}]}]}`,
	} {
		if err := json.Unmarshal([]byte(broken), &got); err == nil {
			t.Errorf("Unmarshal(%s) succeeded", broken)
		}
	}
}

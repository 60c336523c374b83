package anthropic

import (
	"strings"
	"testing"
)

func TestThinkingStillValid(t *testing.T) {
	thinkN := func(n string) string { return `{"type":"thinking","thinking":"","signature":"s` + n + `"}` }
	t1, t2, t3 := thinkN("1"), thinkN("2"), thinkN("3")
	head := `"system":"be good","tools":[{"name":"run"}]`
	a := asst(t1, use1)
	b := asst(t2, use2)
	base := with(head, hi, a, user(res1), b, user(res2))
	grown := func(list ...string) string { return with(head, append(list, asst(t3, say), hi)...) }
	tests := []struct {
		name, before, after string
		want                string // paths of the invalid blocks
	}{
		{"append", base, grown(hi, a, user(res1), b, user(res2)), ""},
		{"markers and parameters", base, with(`"effort":1,"system":[{"type":"text","text":"be good",`+marked5m+`}],"tools":[{"name":"run",`+marked5m+`}]`,
			user(`{"type":"text","text":"hi",`+marked5m+`}`), a, user(res1), b, user(res2)), ""},
		{"deferred tool", base, strings.Replace(base, `{"name":"run"}`, `{"name":"run"},{"name":"more","defer_loading":true}`, 1), ""},
		{"new tool", base, strings.Replace(base, `{"name":"run"}`, `{"name":"run"},{"name":"more"}`, 1), "messages.1.content.0 messages.3.content.0"},
		{"tool gone", base, strings.Replace(base, `{"name":"run"}`, ``, 1), "messages.1.content.0 messages.3.content.0"},
		{"system changed", base, strings.Replace(base, "be good", "be bad", 1), "messages.1.content.0 messages.3.content.0"},
		{"thinking removed at the front", base, grown(hi, asst(use1), user(res1), b, user(res2)), ""},
		{"thinking removed at the end", base, with(head, hi, a, user(res1), asst(use2), user(res2)), ""},
		{"all thinking removed", base, with(head, hi, asst(use1), user(res1), asst(use2), user(res2)), ""},
		{"thinking removed in the middle", base, grown(hi, a, user(res1), asst(use2), user(res2)), "messages.5.content.0"},
		{"thinking put back", with(head, hi, asst(use1), user(res1), b), with(head, hi, a, user(res1), b), "messages.1.content.0 messages.3.content.0"},
		{"result shortened", base, grown(hi, a, user(strings.Replace(res1, "done", "…", 1)), b, user(res2)), "messages.3.content.0 messages.5.content.0"},
		{"message deleted", base, grown(a, user(res1), b, user(res2)), "messages.0.content.0 messages.2.content.0 messages.4.content.0"},
		{"neighbours joined", with(head, hi, hi, a), with(head, user(`{"type":"text","text":"hi"}`, `{"type":"text","text":"hi"}`), a), ""},
		{"signed compaction of the beginning", base, with(head, asst(sign), b, user(res2), asst(t3, say), hi), ""},
		{"signed compaction, tail changed", base, with(head, asst(sign), b, user(strings.Replace(res2, "done", "…", 1)), asst(t3, say), hi), "messages.3.content.0"},
		{"signed compaction, first kept message changed", base, with(head, asst(sign), asst(say, t2, use2), user(res2), hi), "messages.1.content.1"},
		{"behind a compaction block", with(head, asst(sign), b, user(res2)), with(head, asst(sign), b, user(strings.Replace(res2, "done", "…", 1)), asst(t3, say), hi), "messages.3.content.0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, v := range ThinkingStillValid(mustDecode(t, tt.before), mustDecode(t, tt.after)) {
				got = append(got, v.Path)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("invalid: %v, want %v", got, tt.want)
			}
		})
	}
	v := ThinkingStillValid(mustDecode(t, base), mustDecode(t, strings.Replace(base, `"content":"hi"`, `"content":"ho"`, 1)))[0]
	if want := "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". Content before this block differs from when it was created, first at `messages.0.content.0`."; v.String() != want {
		t.Errorf("got %s", v)
	}
}

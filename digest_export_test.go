package pleat

// CheckDigest passes a text through the gate as the digest of a conversation.
func CheckDigest(msgs []Message, text string) (clean string, findings []Finding, ok bool) {
	var words UserWords
	src := &digestSource{need: digestNeed{end: len(msgs)}}
	for i, m := range msgs {
		words.Add(i, m)
		src.msgs = append(src.msgs, sourceMessage{Message: m, handles: make([]string, m.Blocks().Len())})
	}
	src.said = words.Said()
	count := func(s string) int { return (len(s) + 3) / 4 }
	r := newGateSource(src, DigestOptions{}).check(text, gateWants{room: 1 << 30, replaces: 1 << 30, count: count})
	return r.text, r.findings, r.ok
}

// DigestNames are the names of a text that have to occur in the conversation.
func DigestNames(text string) []string {
	var out []string
	for _, n := range namesIn(text) {
		out = append(out, n.text)
	}
	return out
}

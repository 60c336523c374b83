package summarizer

import (
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/internal/annotate"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// CheckDigest passes a text through the gate as the digest of a conversation.
func CheckDigest(msgs []transcript.Message, text string) (clean string, findings []digest.Finding, ok bool) {
	var words userwords.Words
	var before annotate.State
	src := &Source{Need: Need{End: len(msgs)}}
	for i, m := range msgs {
		words.Hear(i, m, annotate.Message(m, &before))
		src.Msgs = append(src.Msgs, SourceMessage{Message: m, Handles: make([]string, m.Blocks().Len())})
	}
	src.Said = words.Said()
	count := func(s string) int { return (len(s) + 3) / 4 }
	r := newGateSource(src, digest.Options{}).check(text, gateWants{room: 1 << 30, replaces: 1 << 30, count: count})
	return r.text, r.findings, r.ok
}

// Groups returns the texts in which a summarizer reads a conversation that is one round.
func Groups(msgs []transcript.Message, room int) (texts []string) {
	src := &Source{Need: Need{End: len(msgs)}}
	for _, m := range msgs {
		n := m.Blocks().Len()
		src.Msgs = append(src.Msgs, SourceMessage{Message: m, Handles: make([]string, n), Superseded: make([]bool, n)})
	}
	for _, g := range src.groups(0, room, func(s string) int { return (len(s) + 3) / 4 }) {
		texts = append(texts, g.text)
	}
	return texts
}

package sessionlog

import (
	"cmp"
	"strings"

	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// clineFormat is the file NAME.messages.json of the command line.
var clineFormat = format{
	name:    "cline",
	agent:   "cline",
	folders: map[string][]string{".cline/data/sessions": {"*/*.messages.json"}},
	document: func(doc value) bool {
		first := doc.get("messages").at(0)
		return doc.get("sessionId").isString() &&
			first.get("ts").exists() && first.get("role").isString() && first.get("content").exists()
	},
	read: readCline,
}

// readCline reads messages in the form of the Messages API, with times and usage of their own.
func readCline(l *Log, s *sink) error {
	l.info.SessionID = l.doc.get("sessionId").str()
	l.info.Version = l.doc.get("origin", "version").str()
	l.info.System = l.doc.get("system_prompt").str()
	return l.each(l.doc.get("messages"), func(e value, num int) error {
		m := e.keep()
		rec := Record{Line: num, Time: m.get("ts").time()}
		rec.Model = m.get("modelInfo", "id").str()
		content := m.get("content")
		switch m.get("role").str() {
		case "assistant":
			rec.Usage = m.get("metrics").usageOf("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
			return s.answer(rec, plainBlocks(content))
		case "user":
			return clineUser(s, rec, content)
		}
		return errShape
	})
}

// clineUser reads what a person typed, results, and what Cline put beside them. Unless an element
// holds what was typed, and only marked texts are beside it, the words have to tell.
func clineUser(s *sink, rec Record, content value) error {
	var all, typed, injected []transcript.Block
	rec.Model = ""
	wrapped, sure := false, true
	for b := range content.list() {
		if b.get("type").is("tool_result") {
			if err := s.result(rec, clineResult(b)); err != nil {
				return err
			}
			continue
		}
		text := cmp.Or(b.get("text").str(), b.str())
		if b.get("type").is("image") {
			all, typed = append(all, plainBlock(b)), append(typed, plainBlock(b))
			continue
		} else if text == "" {
			continue
		}
		all = append(all, transcript.Say(text))
		if words, ok := typedWords(text); ok {
			typed = append(typed, transcript.Say(words))
			wrapped, sure = true, sure && words != ""
		} else {
			injected = append(injected, transcript.Say(text))
			sure = sure && strings.ContainsAny(text[:1], "<[")
		}
	}
	if !wrapped || !sure {
		return s.user(rec, wordsOrigin(all), all...)
	}
	if err := s.user(rec, transcript.OriginTyped, typed...); err != nil {
		return err
	}
	return s.user(rec, transcript.OriginInjected, injected...)
}

// typedWords takes a person's words out of the element that Cline puts around them; none if there
// may be more of them beside it.
func typedWords(text string) (words string, ok bool) {
	text = strings.TrimSpace(text)
	for _, tag := range [...]string{"<user_input ", "<user_command ", "<mode_notice>"} {
		if strings.HasPrefix(text, tag) {
			var all userwords.Words
			if all.Add(0, transcript.User(text)); len(all.Said()) == 1 && all.Weight() == len(all.Said()[0].Text) {
				words = all.Said()[0].Text
			}
			return words, true
		}
	}
	return "", false
}

func clineResult(b value) transcript.ToolResult {
	res := transcript.ToolResult{CallID: b.get("tool_use_id").str(), Error: b.get("is_error").isTrue()}
	var parts []transcript.Block
	for p := range b.get("content").list() {
		switch result := p.get("result"); {
		case result.isString(): // one of several commands or files
			head := ""
			if query := p.get("query").str(); query != "" {
				head = query + "\n"
			}
			parts = append(parts, transcript.Text{Text: transcript.Plain(head + result.str())})
			res.Error = res.Error || p.get("error").isString()
		case p.isString():
			parts = append(parts, transcript.Text{Text: p.content()})
		case p.exists():
			parts = append(parts, plainBlock(p))
		}
	}
	res.Parts = transcript.BlocksOf(parts...)
	return res
}

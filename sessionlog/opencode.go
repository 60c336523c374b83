package sessionlog

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// OpenCode is the format of opencode's exports and databases.
const OpenCode Format = "opencode"

var openCodeFormat = format{
	name:  OpenCode,
	agent: "opencode",
	folders: map[string][]string{
		".local/share/opencode":         {"opencode*.db/*"}, // since 1.2
		".local/share/opencode/storage": {"session/*/*.json"},
	},
	join:  joinOpenCode,
	parts: openCodeParts,
	document: func(doc value) bool {
		if doc.isArray() {
			return doc.at(0).get("info").isObject() && doc.at(0).get("parts").isArray()
		}
		messages := doc.get("messages")
		first := messages.at(0)
		return messages.isArray() && doc.get("info").isObject() && (first.get("parts").isArray() || !first.exists())
	},
	read: readOpenCode,
}

// joinOpenCode makes the export that opencode would make of a session's files: session/PROJECT/ID.json,
// message/ID/*.json and part/MESSAGE/*.json. Files that are being written are left out.
func joinOpenCode(folder fs.FS, name string, head bool) ([]byte, error) {
	const most = 256 << 20 // bytes of all files
	var doc bytes.Buffer
	read := func(name string) (text []byte, err error) {
		info, err := fs.Stat(folder, name)
		switch {
		case err != nil || !info.Mode().IsRegular(): // which is no JSON
		case info.Size()+int64(doc.Len()) > most:
			err = ErrTooLarge
		default:
			text, err = fs.ReadFile(folder, name)
		}
		return text, err
	}
	session, err := read(name)
	if err == nil {
		_, err = parse(session)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&doc, `{"info":%s,"messages":[`, session)
	sep := ""
	for _, m := range openCodeFiles(folder, "message", name) {
		message, err := read(m)
		if head || err != nil {
			return append(doc.Bytes(), "]}"...), err
		}
		if _, err := parse(message); err != nil {
			continue
		}
		fmt.Fprintf(&doc, `%s{"info":%s,"parts":[`, sep, message)
		sep = ""
		for _, p := range openCodeFiles(folder, "part", m) {
			part, err := read(p)
			if err != nil {
				return nil, err
			}
			if _, err := parse(part); err == nil {
				fmt.Fprintf(&doc, "%s%s", sep, part)
				sep = ","
			}
		}
		doc.WriteString("]}")
		sep = ","
	}
	doc.WriteString("]}")
	return doc.Bytes(), nil
}

// openCodeFiles lists what opencode keeps of a session or of a message, in order of name, in which it made them.
func openCodeFiles(folder fs.FS, kind, of string) []string {
	list, _ := fs.Glob(folder, kind+"/"+strings.TrimSuffix(path.Base(of), ".json")+"/*.json") // the pattern is good
	return list
}

func openCodeParts(folder fs.FS, name string, newest int) (all []fs.FileInfo) {
	add := func(name string) {
		if info, err := fs.Stat(folder, name); err == nil && info.Mode().IsRegular() {
			all = append(all, info)
		}
	}
	messages := openCodeFiles(folder, "message", name)
	for i, m := range messages {
		if add(m); i >= len(messages)-newest {
			for _, p := range openCodeFiles(folder, "part", m) {
				add(p)
			}
		}
	}
	return all
}

// readOpenCode reads an opencode export: messages of parts, in which a call and its
// result are one part.
func readOpenCode(s *sink) error {
	list := s.doc
	if s.doc.isObject() {
		info := s.doc.get("info")
		s.info.Version = info.get("version").str()
		s.info.SessionID = info.get("id").str()
		s.info.Title = info.get("title").str()
		s.info.Parent = info.get("parentID").str()
		s.info.Dir = info.get("directory").str()
		list = s.doc.get("messages")
	}
	return s.each(list, func(m value, num int) error {
		info, parts := m.get("info"), m.get("parts")
		if !info.isObject() || !parts.isArray() {
			return errShape
		}
		return s.openCodeMessage(Record{Line: num, Time: info.get("time", "created").time()}, info, parts)
	})
}

func (s *sink) openCodeMessage(rec Record, info, parts value) error {
	if info.get("role").is("assistant") {
		rec.Model = info.get("modelID").str()
		return s.openCodeAnswer(rec, parts, info.get("summary").isTrue())
	}
	return s.openCodeUser(rec, parts)
}

// openCodeUser separates what was typed from what the program added: mentioned files, reminders.
func (s *sink) openCodeUser(rec Record, parts value) error {
	origin := transcript.OriginUnknown
	var blocks []transcript.Block
	flush := func() {
		_ = s.user(rec, origin, blocks...)
		blocks = nil
	}
	put := func(b transcript.Block, o transcript.Origin) {
		if o != origin && len(blocks) > 0 {
			flush()
		}
		origin = o
		blocks = append(blocks, b)
	}
	for p := range parts.elems() {
		switch typ := p.get("type").str(); typ {
		case "text":
			o := transcript.OriginUnknown
			if p.get("synthetic").isTrue() {
				o = transcript.OriginInjected
			}
			put(transcript.Text{Text: p.get("text").content()}, o)
		case "file":
			if b, ok := openCodeFile(p); ok {
				put(b, transcript.OriginTyped)
			}
		case "compaction":
			c := Compaction{Line: rec.Line, Trigger: "manual"}
			if p.get("auto").isTrue() {
				c.Trigger = "auto"
			}
			s.compaction(c)
		}
	}
	flush()
	return s.err
}

// openCodeFile decodes an attached file. It leaves out text files, whose content follows as
// a text part.
func openCodeFile(p value) (transcript.Block, bool) {
	mime := p.get("mime").str()
	switch {
	case strings.HasPrefix(mime, "image/"):
		img := transcript.ImageAt(cmp.Or(p.get("url").str(), p.get("uri").str()))
		if data := p.get("data"); data.isString() {
			img = transcript.Image{Data: data.content()}
		}
		img.MediaType = mime
		return img, true
	case strings.HasPrefix(mime, "text/"), mime == "application/x-directory":
		return nil, false
	}
	return transcript.Opaque{Type: "file", Raw: p.raw()}, true
}

// openCodeAnswer reads an answer, or one that stands for the compacted history.
func (s *sink) openCodeAnswer(rec Record, parts value, summary bool) error {
	var blocks []transcript.Block
	var results []transcript.ToolResult
	// A step is one answer of the model; a message may hold several.
	step := func() {
		if !summary {
			_ = s.answer(rec, blocks, results...)
			blocks, results, rec.Usage = nil, nil, nil
		}
	}
	for p := range parts.elems() {
		switch p.get("type").str() {
		case "step-start":
			step()
		case "text":
			blocks = append(blocks, textBlocks(p.get("text"))...)
		case "reasoning":
			blocks = append(blocks, openCodeReasoning(p)...)
		case "tool":
			id, state := either(p, "callID", "id"), p.get("state")
			blocks = append(blocks, callOf(id, either(p, "tool", "name"), state.get("input")))
			if res, ok := openCodeResult(id, state); ok {
				results = append(results, res)
			}
		case "file":
			if b, ok := openCodeFile(p); ok {
				blocks = append(blocks, b)
			}
		case "step-finish":
			rec.Usage = openCodeUsage(p.get("tokens"))
		}
	}
	if step(); summary {
		rec.Model = ""
		words := transcript.Assistant(blocks...).Text()
		s.summarized(rec.Line, words)
		return s.summary(rec, words)
	}
	return s.err
}

func openCodeUsage(u value) *model.Usage {
	used := u.usage("input", "cache.read", "cache.write", "output", "reasoning")
	if used != nil {
		used.Output += used.Reasoning
	}
	return used
}

func openCodeReasoning(p value) []transcript.Block {
	signature := ""
	metadata := p.get("metadata")
	for _, at := range metadata.b.Members() {
		provider := metadata.sub(at)
		for _, key := range []string{"signature", "reasoningEncryptedContent", "reasoningOpaque"} {
			if sig := provider.get(key); sig.isString() {
				signature = sig.str()
			}
		}
	}
	return thinkingBlocks(p.get("text"), signature)
}

// openCodeResult decodes the result of a call that has ended: in databases of version 2 a list.
func openCodeResult(id, state value) (transcript.ToolResult, bool) {
	failed := state.get("status").is("error")
	if !failed && !state.get("status").is("completed") {
		return transcript.ToolResult{}, false
	}
	var parts []transcript.Block
	if output := state.get("output"); !failed && output.exists() {
		parts = append(parts, transcript.Text{Text: output.content()})
	}
	for p := range either(state, "content", "attachments").elems() {
		if text := p.get("text"); text.isString() {
			parts = append(parts, transcript.Text{Text: text.content()})
		} else if b, ok := openCodeFile(p); ok {
			parts = append(parts, b)
		}
	}
	if failed && len(parts) == 0 {
		why := state.get("error")
		return transcript.ErrorResult(id.str(), cmp.Or(why.str(), why.get("message").str())), true
	}
	return resultOf(id, failed, parts...), true
}

package sessionlog

import (
	"bytes"
	"cmp"
	"errors"
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

// maxOpenCode is the most bytes that the files of a session may have together.
const maxOpenCode = 256 << 20

// joinOpenCode makes the export that opencode would make of a session's files:
// session/PROJECT/ID.json, message/ID/*.json and part/MESSAGE/*.json.
func joinOpenCode(folder fs.FS, name string, head bool) ([]byte, error) {
	info, err := fs.Stat(folder, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxOpenCode:
		return nil, ErrTooLarge
	}
	session, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, err
	}
	v, err := parse(session)
	if err != nil {
		return nil, err
	}
	id := v.get("id").str()
	if id == "" || strings.ContainsAny(id, `/\`) {
		return nil, errors.New("the session has no ID")
	}
	j := openCodeJoin{folder: folder}
	fmt.Fprintf(&j.doc, `{"info":%s,"messages":[`, session)
	if !head {
		j.each("message/"+id, func(name string, message []byte) {
			fmt.Fprintf(&j.doc, `{"info":%s,"parts":[`, message)
			j.each("part/"+strings.TrimSuffix(name, ".json"), func(_ string, part []byte) { j.doc.Write(part) })
			j.doc.WriteString("]}")
		})
	}
	j.doc.WriteString("]}")
	return j.doc.Bytes(), j.err
}

type openCodeJoin struct {
	folder fs.FS
	doc    bytes.Buffer
	err    error
}

// each visits the JSON files of a folder in order of name, in which opencode made them, and
// separates what visit writes by commas. A file that is being written is left out.
func (j *openCodeJoin) each(folder string, visit func(name string, data []byte)) {
	first := true
	files, err := openCodeFiles(j.folder, folder)
	j.err = cmp.Or(j.err, err)
	for _, info := range files {
		data, err := fs.ReadFile(j.folder, folder+"/"+info.Name())
		if err == nil && j.doc.Len()+len(data) > maxOpenCode {
			err = ErrTooLarge
		}
		if j.err = cmp.Or(j.err, err); j.err != nil {
			return
		}
		if _, err := parse(data); err != nil {
			continue
		}
		if !first {
			j.doc.WriteByte(',')
		}
		first = false
		visit(info.Name(), data)
	}
}

// openCodeFiles lists the JSON files in a folder, in order of name.
func openCodeFiles(folder fs.FS, name string) (list []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(folder, name)
	if errors.Is(err, fs.ErrNotExist) { // a session without messages
		err = nil
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".json" || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			list = append(list, info)
		}
	}
	return list, err
}

func openCodeParts(folder fs.FS, name string, newest int) []fs.FileInfo {
	messages, _ := openCodeFiles(folder, "message/"+strings.TrimSuffix(path.Base(name), ".json"))
	all := messages
	for _, m := range messages[max(len(messages)-newest, 0):] {
		parts, _ := openCodeFiles(folder, "part/"+strings.TrimSuffix(m.Name(), ".json"))
		all = append(all, parts...)
	}
	return all
}

// readOpenCode reads an opencode export: messages of parts, in which a call and its
// result are one part.
func readOpenCode(l *Log, s *sink) error {
	list := l.doc
	if l.doc.isObject() {
		info := l.doc.get("info")
		l.info.Version = info.get("version").str()
		l.info.SessionID = info.get("id").str()
		l.info.Title = info.get("title").str()
		l.info.Dir = info.get("directory").str()
		list = l.doc.get("messages")
	}
	return l.each(list, func(m value, num int) error {
		info, parts := m.get("info"), m.get("parts")
		if !info.isObject() || !parts.isArray() {
			return errShape
		}
		return s.openCodeMessage(Record{Line: num, Time: info.get("time", "created").time()}, info, parts)
	})
}

func (s *sink) openCodeMessage(rec Record, info, parts value) error {
	if info.get("role").is("assistant") {
		return s.openCodeAnswer(rec, info, parts)
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
	for part := range parts.elems() {
		p := part.keep()
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
	switch url := p.get("url").str(); {
	case strings.HasPrefix(mime, "image/"):
		img := transcript.ImageAt(url)
		img.MediaType = mime
		return img, true
	case strings.HasPrefix(mime, "text/"), mime == "application/x-directory":
		return nil, false
	}
	return transcript.Opaque{Type: "file", Raw: p.raw()}, true
}

func (s *sink) openCodeAnswer(rec Record, info value, parts value) error {
	if info.get("summary").isTrue() {
		return s.openCodeSummary(rec, parts)
	}
	rec.Model = info.get("modelID").str()
	var blocks []transcript.Block
	var results []transcript.ToolResult
	// A step is one answer of the model; a message may hold several.
	step := func() {
		_ = s.answer(rec, blocks, results...)
		blocks, results, rec.Usage = nil, nil, nil
	}
	for part := range parts.elems() {
		p := part.keep()
		switch typ := p.get("type").str(); typ {
		case "step-start":
			step()
		case "text":
			if text := p.get("text").content(); !text.IsEmpty() {
				blocks = append(blocks, transcript.Text{Text: text})
			}
		case "reasoning":
			if b, ok := openCodeReasoning(p); ok {
				blocks = append(blocks, b)
			}
		case "tool":
			state := p.get("state")
			call := callOf(p.get("callID"), p.get("tool"), state.get("input"))
			blocks = append(blocks, call)
			if res, ok := openCodeResult(call.ID, state); ok {
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
	step()
	return s.err
}

func openCodeUsage(u value) *model.Usage {
	used := u.usage("input", "cache.read", "cache.write", "output")
	if used != nil {
		used.Reasoning = u.get("reasoning").num()
		used.Output += used.Reasoning
	}
	return used
}

func openCodeReasoning(p value) (transcript.Thinking, bool) {
	think := transcript.Thinking{Text: p.get("text").content()}
	metadata := p.get("metadata")
	for _, at := range metadata.b.Members() {
		provider := metadata.sub(at)
		for _, key := range []string{"signature", "reasoningEncryptedContent", "reasoningOpaque"} {
			if sig := provider.get(key); sig.isString() {
				think.Signature = sig.str()
			}
		}
	}
	think.Redacted = think.Text.IsEmpty() && think.Signature != ""
	return think, !think.Text.IsEmpty() || think.Redacted
}

// openCodeResult decodes the result of a call that has ended.
func openCodeResult(id string, state value) (transcript.ToolResult, bool) {
	switch state.get("status").str() {
	case "completed":
		parts := []transcript.Block{transcript.Text{Text: state.get("output").content()}}
		for p := range state.get("attachments").elems() {
			if b, ok := openCodeFile(p); ok {
				parts = append(parts, b)
			}
		}
		return transcript.ToolResult{CallID: id, Parts: transcript.BlocksOf(parts...)}, true
	case "error":
		return transcript.ErrorResult(id, state.get("error").str()), true
	}
	return transcript.ToolResult{}, false
}

// openCodeSummary reads the answer that stands for the compacted history.
func (s *sink) openCodeSummary(rec Record, parts value) error {
	var text []string
	for p := range parts.elems() {
		switch typ := p.get("type"); {
		case typ.is("text"):
			text = append(text, p.get("text").str())
		case typ.is("step-finish"):
			rec.Usage = openCodeUsage(p.get("tokens"))
		}
	}
	words := strings.Join(text, "\n")
	s.summarized(rec.Line, words)
	return s.summary(rec, words)
}

package sessionlog

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Format names the format of a session file: "claude-code", "openai-chat", in lower case with hyphens.
type Format string

// Agent is a program that keeps its sessions in folders of its own.
type Agent struct {
	Format Format
	// Folders are the folders below the user's home folder, written with slashes, each with
	// patterns of the session files in it. A database (*.db) is like a folder of its sessions.
	Folders map[string][]string
	// BytesPerToken is about how many bytes of a file make one token of its messages.
	BytesPerToken int64
	// Join reads a session that is kept in several files as one document, without its
	// messages if only the head is wanted. Nil: a session is one file.
	Join func(folder fs.FS, name string, head bool) ([]byte, error)
	// Parts lists the other files of such a session: those of its messages, and what belongs
	// to as many of the newest messages as newest says.
	Parts func(folder fs.FS, name string, newest int) []fs.FileInfo
}

// Agents lists the agents whose sessions can be found without asking, in order of name.
func Agents() []Agent {
	var list []Agent
	for _, f := range formats {
		if f.folders != nil {
			list = append(list, Agent{f.name, f.folders, cmp.Or(f.bytesPerToken, 6), f.join, f.parts})
		}
	}
	slices.SortFunc(list, func(a, b Agent) int { return strings.Compare(string(a.Format), string(b.Format)) })
	return list
}

// format is how the sessions of one program are recognized and read. Names that agents
// write into their files are not believed: the shape of the content decides.
type format struct {
	name  Format
	agent string // what the program calls itself, unless the file says
	// Where it keeps its files: see [Agent]. Without folders, people have to name the files.
	folders       map[string][]string
	bytesPerToken int64 // 0: 6
	join          func(folder fs.FS, name string, head bool) ([]byte, error)
	parts         func(folder fs.FS, name string, newest int) []fs.FileInfo
	// line reports whether an object is a line of the format. If document is nil, the lines
	// of a file make up one session; otherwise each line is one.
	line func(e value) bool
	// document reports whether a JSON value is a session, or a list of them.
	document func(doc value) bool
	// read hands the session's messages to the sink and sets the log's info.
	read func(s *sink) error
}

// formats are the formats, in the order in which they are tried. The first that fits wins,
// so the least particular ones come last.
var formats []*format

func init() { // here and not above, because readers look at the list as well
	formats = []*format{
		&codexFormat, &copilotFormat, &openHandsFormat, &qwenFormat, &claudeFormat, &piFormat,
		&openCodeFormat, &openCodeRows, &gooseFormat, &crushFormat, &geminiFormat, &geminiLines, &clineFormat,
		&responsesFormat, &anthropicFormat, &chatFormat,
	}
}

// classifyLine returns the format of one line, nil if it is of none.
func classifyLine(v value) *format {
	for _, f := range formats {
		if f.line != nil && f.line(v) {
			return f
		}
	}
	if v.get("messages").isArray() || v.get("input").exists() { // a document a line
		return classifyDocument(v)
	}
	return nil
}

// classifyDocument returns the format of a document, nil if it is of none.
func classifyDocument(v value) *format {
	for _, f := range formats {
		if f.document != nil && f.document(v) {
			return f
		}
	}
	return nil
}

// foreign reports whether a line belongs to another format.
func (l *Log) foreign(v value) bool {
	f := classifyLine(v)
	return f != nil && f != l.format
}

const (
	sniffLines = 64 // lines looked at to find a line format
	sniffBytes = 64 << 20
)

// detect finds the format and, for documents, reads the document.
//
// If the first line is a whole value, the file consists of lines, or is a document on one
// line. Otherwise the file is one document. If it is not even that, its first line may be
// damaged, and the lines after it tell.
func (l *Log) detect() error {
	head := make([]byte, min(l.src.size, 512))
	if err := l.src.readAt(head, 0); err != nil && len(head) > 0 {
		return err
	}
	whole, format, err := l.sniff()
	if err != nil {
		return err
	}
	if format != nil && whole {
		l.format = format
		return l.openLines()
	}
	if l.src.size <= maxDocument {
		v, err := l.readDocument()
		if err != nil {
			return err
		}
		if f := classifyDocument(v); f != nil && (format == nil || len(l.broken) == 0) {
			l.format, l.doc, l.docAt = f, v, 1
			return nil
		}
	}
	if format != nil {
		l.format, l.broken = format, nil
		return l.openLines()
	}
	if l.src.size > maxDocument {
		return fmt.Errorf("no line format, and as a document %d bytes, limit %d: %w", l.src.size,
			maxDocument, ErrTooLarge)
	}
	return unknown(head)
}

// unknown says what a file that begins with head is instead of a session.
func unknown(head []byte) error {
	var names []string
	for _, f := range formats {
		names = append(names, string(f.name))
	}
	slices.Sort(names)
	why := "JSON, but none of: " + strings.Join(slices.Compact(names), ", ")
	switch text := bytes.TrimSpace(trimBOM(head)); {
	case len(text) == 0:
		why = "the file is empty"
	case bytes.IndexByte(head, 0) >= 0:
		why = "the file is binary"
	case text[0] != '{' && text[0] != '[':
		why = "the file is not JSON"
	}
	return fmt.Errorf("%w: %s", ErrFormat, why)
}

// sniff looks at the first lines. It returns the format of the first one that has a line
// format, and whether the first line that is not blank is a whole object.
func (l *Log) sniff() (whole bool, format *format, err error) {
	i := 0
	for ln, err := range l.src.lines() {
		if err != nil {
			return false, nil, err
		}
		if i++; i > sniffLines || ln.off > sniffBytes {
			break
		}
		v, err := parse(ln.text)
		if err != nil || !v.isObject() {
			continue
		}
		whole = whole || i == 1
		if f := classifyLine(v); f != nil {
			return whole, f, nil
		}
	}
	return whole, nil, nil
}

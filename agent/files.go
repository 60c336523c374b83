package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/transcript"
)

// fileMemory knows which files the model has seen, and what was in them. It is derived
// from the transcript, because the results of file tools begin with a line that says so.
// It therefore survives compaction, which changes no transcript, and a restart.
type fileMemory struct {
	mu    sync.Mutex
	next  int               // first message not looked at yet
	tools map[string]string // open calls: names of their tools by id
	seen  map[string]sighting
}

// sighting is how the model last saw a file.
type sighting struct {
	sum      string              // of the whole file
	from, to int                 // lines shown; 0: it wrote them itself
	result   transcript.BlockRef // zero if it is not in the transcript yet
}

// header is the first line of a file tool's result.
func header(verb, name, what, sum string) string {
	return fmt.Sprintf("[%s %s: %s; sha256 %s]", verb, quoteName(name), what, sum)
}

var headerLine = regexp.MustCompile(`^\[(read|wrote|edited) ("(?:[^"\\]|\\.)*"|[^\n]*?): ` +
	`(?:lines (\d+)-(\d+) of \d+|[^\n]*?); sha256 ([0-9a-f]{16})\]`)

// quoteName quotes names that the header could not be read with.
func quoteName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune("\":;\x7f", r) }) {
		return strconv.Quote(name)
	}
	return name
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// catchUp takes in what was said since the last time. It stops at a message that cannot
// be read now; the next call tries again.
func (f *fileMemory) catchUp(s *pleat.Session) {
	if f.seen == nil {
		f.seen, f.tools = make(map[string]sighting), make(map[string]string)
	}
	for n := s.Len(); f.next < n; f.next++ {
		m, err := s.Message(context.Background(), f.next)
		if err != nil {
			return
		}
		for i, b := range m.Blocks().All() {
			switch b := b.(type) {
			case transcript.ToolCall:
				f.tools[b.ID] = b.Name
			case transcript.ToolResult:
				f.result(b, transcript.BlockRef{Message: f.next, Block: i})
			}
		}
	}
}

func (f *fileMemory) result(r transcript.ToolResult, ref transcript.BlockRef) {
	name := f.tools[r.CallID]
	delete(f.tools, r.CallID)
	if r.Error || name != toolReadFile && name != toolWriteFile && name != toolEditFile {
		return
	}
	text := r.Text()
	m := headerLine.FindStringSubmatch(text[:min(len(text), 8<<10)])
	if m == nil {
		return
	}
	file := m[2]
	if q, err := strconv.Unquote(file); err == nil {
		file = q
	}
	from, _ := strconv.Atoi(m[3])
	to, _ := strconv.Atoi(m[4])
	f.seen[file] = sighting{sum: m[5], from: from, to: to, result: ref}
}

func (c Call) lastSeen(name string) (g sighting, ok bool) {
	c.files(func(seen map[string]sighting) { g, ok = seen[name] })
	return g, ok
}

// saw remembers that the model is being shown a file, or wrote it. The result is not in
// the transcript yet, but the other calls of the same answer have to know.
func (c Call) saw(name, sum string) {
	c.files(func(seen map[string]sighting) { seen[name] = sighting{sum: sum} })
}

// files calls do with what the model has seen of files. Outside of a run nobody knows.
func (c Call) files(do func(seen map[string]sighting)) {
	if c.agent == nil {
		return
	}
	f := &c.agent.files
	f.mu.Lock()
	defer f.mu.Unlock()
	f.catchUp(c.agent.session)
	do(f.seen)
}

// shown reports whether the view in force shows a result whole, in its place or on a page, and its handle.
func shown(s *pleat.Session, ref transcript.BlockRef) (handle string, ok bool) {
	m, err := s.Message(context.Background(), ref.Message)
	for _, fold := range s.Report().Folds {
		if fold.Start <= ref.Message && ref.Message < fold.End && (fold.Block < 0 || fold.Block == ref.Block) &&
			(err != nil || !strings.Contains(fold.Stub, strings.TrimSpace(transcript.BlockText(m.Blocks().At(ref.Block))))) {
			return "", false
		}
	}
	for _, e := range s.Ledger(ledger.Filter{FromMessage: max(ref.Message-4, 0), ToMessage: ref.Message + 1}) {
		if e.Outcome != toolcall.Unanswered && e.Result == ref {
			return e.Handle, true
		}
	}
	return "", false
}

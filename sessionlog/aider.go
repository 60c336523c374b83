package sessionlog

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// aiderFormat is .aider.chat.history.md. Each start of Aider is a session.
var aiderFormat = format{name: "aider", agent: "aider", read: readAider}

const aiderStart = "# aider chat started at "

func isAider(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(trimBOM(head), "\r\n"), []byte(aiderStart))
}

// aiderSessions are the sessions of a file, each behind its first mark. It is Markdown, the only
// format that is no JSON.
func (l *Log) aiderSessions() ([]string, error) {
	if l.src.size > maxDocument {
		return nil, fmt.Errorf("%d bytes, limit %d: %w", l.src.size, maxDocument, ErrTooLarge)
	}
	text := make([]byte, l.src.size)
	err := l.src.readAt(text, 0)
	return strings.Split("\n"+string(trimBOM(text)), "\n"+aiderStart), err
}

// openAider counts the sessions.
func (l *Log) openAider() error {
	sessions, err := l.aiderSessions()
	l.format, l.count = &aiderFormat, len(sessions)-1
	return err
}

// aiderReader takes a history line by line: what follows "#### " was typed, what follows "> "
// is Aider's own, and everything else is the model's answer.
type aiderReader struct {
	l      *Log
	s      *sink
	rec    Record
	typed  bool
	lines  []string
	answer *Record // waits for the line that says what it used
}

func readAider(l *Log, s *sink) error {
	sessions, err := l.aiderSessions()
	if err != nil {
		return err
	}
	if l.opts.Session+1 >= len(sessions) {
		return nil
	}
	started, text, _ := strings.Cut(sessions[l.opts.Session+1], "\n")
	l.info.SessionID = strings.TrimRight(started, " \r")
	r := aiderReader{l: l, s: s}
	r.rec.Time, _ = time.Parse(time.DateTime, l.info.SessionID) // it names no zone
	num := 1 + strings.Count(strings.Join(sessions[:l.opts.Session+1], "\n"), "\n")
	for line := range strings.Lines(text) {
		num++
		line = strings.TrimRight(line, " \r\n")
		r.line(line, num)
		if s.err != nil {
			return s.err
		}
	}
	r.flush()
	r.put()
	return s.err
}

func (r *aiderReader) line(line string, num int) {
	said, typed := strings.CutPrefix(line+" ", "#### ")
	note, own := strings.CutPrefix(line, "> ")
	if own || typed != r.typed && (typed || line != "") {
		r.flush()
	}
	switch {
	case own:
		r.note(note)
	case typed || r.typed && line != "" || !r.typed && (len(r.lines) > 0 || line != ""):
		if len(r.lines) == 0 {
			r.typed, r.rec.Line = typed, num
		}
		if !typed {
			said = line
		}
		r.lines = append(r.lines, strings.TrimRight(said, " "))
	}
}

// flush hands out the lines of one speaker.
func (r *aiderReader) flush() {
	text := strings.TrimSpace(strings.Join(r.lines, "\n"))
	r.lines = nil
	if text == "" {
		return
	}
	rec := r.rec
	r.put()
	if r.typed {
		rec.Message = transcript.User(text).WithOrigin(transcript.OriginTyped)
		_ = r.s.add(rec)
	} else {
		rec.Message, rec.Model = transcript.Assistant(transcript.Text{Text: transcript.Plain(text)}), r.l.info.Model
		r.answer = &rec
	}
	r.typed = false
}

// put hands out the answer that waits.
func (r *aiderReader) put() {
	if r.answer != nil {
		_ = r.s.add(*r.answer)
		r.answer = nil
	}
}

// note reads what Aider says of itself: its version, its model, and what a request used.
func (r *aiderReader) note(text string) {
	words := strings.Fields(text)
	switch {
	case len(words) == 2 && words[0] == "Aider":
		r.l.info.Version = strings.TrimPrefix(words[1], "v")
	case len(words) > 1 && (words[0] == "Model:" || words[0] == "Models:"):
		r.l.info.Model = words[1]
	case len(words) > 2 && words[0] == "Main" && words[1] == "model:":
		r.l.info.Model = words[2]
	case len(words) > 0 && words[0] == "Tokens:" && r.answer != nil:
		u := &model.Usage{}
		for i := 1; i+1 < len(words); i++ {
			n := aiderCount(words[i])
			switch strings.Trim(words[i+1], ",.") {
			case "sent":
				u.Input = n
			case "received":
				u.Output = n
			case "cache":
				if i+2 < len(words) && strings.HasPrefix(words[i+2], "write") {
					u.CacheWrite = n
				} else {
					u.CacheRead = n
				}
			}
		}
		u.Input = max(u.Input-u.CacheRead-u.CacheWrite, 0)
		r.answer.Usage = u
	}
}

// aiderCount reads a count as Aider writes it: 512, 4.2k, 1.1M.
func aiderCount(s string) int {
	factor := 1.0
	switch {
	case strings.HasSuffix(s, "k"):
		s, factor = strings.TrimSuffix(s, "k"), 1e3
	case strings.HasSuffix(s, "M"):
		s, factor = strings.TrimSuffix(s, "M"), 1e6
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil || f < 0 || f > 1e9 {
		return 0
	}
	return int(f*factor + 0.5)
}

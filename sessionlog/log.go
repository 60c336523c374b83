package sessionlog

import (
	"errors"
	"fmt"
	"io"
	"iter"
)

// Options say how a session is read. Nil means the defaults.
type Options struct {
	Session    int  // which session of a file that holds several, from 0
	Strict     bool // damage is an error, not a report
	Sidechains bool // read sub-agents' messages too, marked, where the log has them
	Abandoned  bool // read branches that were left by rewinding too, marked
	// OnDamage is told of every line that cannot be read. [Info] keeps the first hundred.
	OnDamage func(Damage)
	// MaxLine is the longest line that is read, in bytes; longer ones are damage.
	// 0 means 256 MiB.
	MaxLine int64
	// MaxDocument is the largest file that is read if it is one JSON document. 0 means
	// 512 MiB.
	MaxDocument int64
}

const (
	defaultMaxLine     = 256 << 20
	defaultMaxDocument = 512 << 20
	keptDamage         = 100
)

var (
	// ErrFormat: the content is no session in a format that this package knows.
	ErrFormat = errors.New("unknown session format")
	// ErrNoSession: the file has no session with that number.
	ErrNoSession = errors.New("no such session in the file")
	// ErrTooLarge: a line or document is longer than the options allow.
	ErrTooLarge = errors.New("too large")
	errShape    = errors.New("not an entry of this format")
)

// Log is an open session file. It is not safe for concurrent use.
type Log struct {
	src    *source
	opts   Options
	format Format
	whole  value // the document, for document formats
	doc    value // the session's part of it
	docAt  int   // line on which doc begins
	count  int   // sessions in the file

	broken  []Damage // what was found damaged while opening, reported with the records
	opening bool
	info    Info
}

// Open finds out what r holds and prepares reading it. It reads from r's current
// position. A file (anything that can seek and read at an offset) is read in place and
// must stay open and unchanged until [Log.Close]; other input is spooled.
func Open(r io.Reader, opts *Options) (*Log, error) {
	l := &Log{count: 1}
	if opts != nil {
		l.opts = *opts
	}
	if l.opts.MaxLine <= 0 {
		l.opts.MaxLine = defaultMaxLine
	}
	if l.opts.MaxDocument <= 0 {
		l.opts.MaxDocument = defaultMaxDocument
	}
	var err error
	if l.src, err = newSource(r); err != nil {
		return nil, err
	}
	if err = l.detect(); err == nil {
		err = l.choose()
	}
	if err == nil && l.opts.Strict && len(l.broken) > 0 {
		err = l.broken[0]
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open session: %w", err), l.src.close())
	}
	l.info = Info{Format: l.format}
	return l, nil
}

// Detect says which format r holds. It reads from r's current position and, if r can
// seek, leaves it there.
func Detect(r io.Reader) (Format, error) {
	l, err := Open(r, nil)
	if err != nil {
		return "", err
	}
	return l.format, l.Close()
}

// Close lets go of what the log holds. It does not close the reader given to [Open].
func (l *Log) Close() error { return l.src.close() }

// Format is the format that was found.
func (l *Log) Format() Format { return l.format }

// Sessions is the number of sessions in the file.
func (l *Log) Sessions() int { return l.count }

// Session returns the log of another session in the same file, without opening it again.
// It is good until l is closed.
func (l *Log) Session(n int) (*Log, error) {
	other := *l
	other.src = &source{r: l.src.r, size: l.src.size, close: func() error { return nil }}
	other.opts.Session, other.info = n, Info{Format: l.format}
	var err error
	if l.whole.exists() {
		other.doc, other.docAt = l.whole, 1
	} else {
		other.broken = nil
		err = other.openLines()
	}
	if err == nil {
		err = other.choose()
	}
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &other, nil
}

// Info returns what is known about the session so far: all of it when a loop over
// [Log.Records] has ended by itself.
func (l *Log) Info() Info { return l.info }

// Records yields the session's messages in order. An error ends it: the source cannot be
// read, or a line is damaged in strict mode. It can be called again to read again.
func (l *Log) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l.info = Info{Format: l.format}
		s := &sink{log: l, yield: yield}
		for _, d := range l.broken {
			l.report(d)
		}
		err := l.read(s)
		if err == nil {
			s.flush()
		}
		if err != nil && !errors.Is(err, errStop) && !s.stopped {
			yield(Record{}, fmt.Errorf("read session: %w", err))
		}
	}
}

func (l *Log) read(s *sink) error {
	switch l.format {
	case ClaudeCode:
		return readClaude(l, s)
	case Codex:
		return readCodex(l, s)
	case CopilotCLI:
		return readCopilot(l, s)
	case Pi:
		return readPi(l, s)
	}
	switch l.format {
	case OpenCode:
		readOpenCode(l, s)
	case GeminiCLI:
		readGemini(l, s)
	case TauBench:
		readTau(l, s)
	case SWEAgent:
		readSWEAgent(l, s)
	case OpenHands:
		readOpenHands(l, s)
	case Anthropic:
		readAnthropic(l, s)
	case OpenAIChat:
		readChat(l, s)
	case OpenAIResponses:
		readResponses(l, s)
	}
	return s.err
}

// errStop ends reading because the caller wants no more.
var errStop = errors.New("stop")

func (l *Log) report(d Damage) {
	l.info.Damaged++
	if len(l.info.Damage) < keptDamage {
		l.info.Damage = append(l.info.Damage, d)
	}
	if l.opts.OnDamage != nil {
		l.opts.OnDamage(d)
	}
}

// damage reports a line that is skipped; the error is not nil in strict mode.
func (l *Log) damage(lineNum int, err error) error {
	d := Damage{lineNum, err}
	if l.opening {
		l.broken = append(l.broken, d)
		return nil
	}
	l.report(d)
	if l.opts.Strict {
		return d
	}
	return nil
}

// lines calls visit for every line that is a JSON object.
func (l *Log) lines(visit func(ln line, v value) error) error {
	lr := newLineReader(l.src, l.opts.MaxLine)
	for {
		ln, err := lr.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		v, err := l.object(ln)
		if err == nil {
			err = visit(ln, v)
		}
		if errors.Is(err, errDamaged) {
			err = l.damage(ln.num, errors.Unwrap(err))
		}
		if err != nil {
			return err
		}
	}
}

// errDamaged marks the errors of one line, which end its reading only.
var errDamaged = errors.New("damaged")

type damagedError struct{ error }

func (e damagedError) Unwrap() error   { return e.error }
func (damagedError) Is(err error) bool { return err == errDamaged }

func damaged(err error) error { return damagedError{err} }

func (l *Log) object(ln line) (value, error) {
	if ln.text == nil {
		return value{}, damaged(fmt.Errorf("line of %d bytes, limit %d: %w", ln.size, l.opts.MaxLine, ErrTooLarge))
	}
	v, err := parse(ln.text)
	switch {
	case err != nil && ln.off+ln.size >= l.src.size:
		return value{}, damaged(fmt.Errorf("the last line is cut off: %w", err))
	case err != nil:
		return value{}, damaged(err)
	case !v.isObject():
		return value{}, damaged(errShape)
	}
	return v, nil
}

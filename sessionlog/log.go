package sessionlog

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// Options say how a session is read. Nil means the defaults.
type Options struct {
	Session    int  // which session of a file that holds several, from 0
	Strict     bool // damage is an error, not only a report
	Sidechains bool // also read sub-agents' messages; Record.Sidechain marks them
	Abandoned  bool // also read branches that were left by rewinding; Record.Abandoned marks them
	// OnDamage is called for every line that cannot be read. [Info] keeps the first hundred.
	OnDamage func(Damage)
}

// The longest line and the largest document that are read, in bytes. Longer lines are damage.
// Tests change them.
var maxLine, maxDocument int64 = 256 << 20, 512 << 20

// keptDamage is how much damage [Info] tells of.
const keptDamage = 100

var (
	// ErrFormat: the content is no session in a format that this package knows.
	ErrFormat = errors.New("unknown session format")
	// ErrNoSession: the file has no session with that number.
	ErrNoSession = errors.New("no such session in the file")
	// ErrTooLarge: a line or document is longer than the options allow.
	ErrTooLarge = errors.New("too large")
)

// damagedError is an error of one line or element, which is reported and skipped.
type damagedError struct{ error }

var errShape = damagedError{errors.New("not an entry of this format")}

// Log is an open session file. It is not safe for concurrent use.
type Log struct {
	src    *source
	opts   Options
	format *format
	doc    value // the session's part of the document, for document formats
	docAt  int   // line on which doc begins
	count  int   // sessions in the file

	broken  []Damage // damage found while opening, reported with the records
	opening bool
	info    Info
}

// Open finds the format of r and prepares to read it. It reads from r's current position. A
// file (anything that can seek and read at an offset) is read in place and must stay open
// and unchanged while the log is used; other input is read into memory.
func Open(r io.Reader, opts *Options) (*Log, error) {
	l := &Log{count: 1}
	if opts != nil {
		l.opts = *opts
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
		return nil, fmt.Errorf("open session: %w", err)
	}
	l.reset()
	return l, nil
}

func (l *Log) reset() { l.info = Info{Format: l.format.name, Agent: l.format.agent} }

// Sessions returns the number of sessions in the file.
func (l *Log) Sessions() int { return l.count }

// Info returns what is known about the session so far. It is complete once a loop over
// [Log.Records] has run to its end.
func (l *Log) Info() Info { return l.info }

// Records yields the session's messages in order. An error ends it: the file cannot be
// read, or a line is damaged in strict mode. Each call reads the session from its start.
func (l *Log) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l.reset()
		s := &sink{Log: l, yield: yield}
		for _, d := range l.broken {
			l.report(d)
		}
		if err := l.format.read(s); err == nil {
			s.flush()
		} else if s.err == nil {
			yield(Record{}, fmt.Errorf("read session: %w", err))
		}
	}
}

// errStop ends reading because the caller has left the loop.
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

// skip reports damage and returns nil so that reading goes on. In strict mode it returns
// the damage, and always any other error.
func (l *Log) skip(err error, lineNum int) error {
	var damaged damagedError
	if !errors.As(err, &damaged) {
		return err
	}
	d := Damage{lineNum, damaged.error}
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
	var members []member
	for ln, err := range l.src.lines() {
		if err != nil {
			return err
		}
		v, err := l.object(ln)
		if err == nil {
			v = v.indexed(members)
			members = v.members
			err = visit(ln, v)
		}
		if err = l.skip(err, ln.num); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) object(ln line) (value, error) {
	if ln.text == nil {
		return value{}, damagedError{fmt.Errorf("line of %d bytes, limit %d: %w", ln.size, maxLine, ErrTooLarge)}
	}
	v, err := parse(ln.text)
	switch {
	case err != nil && ln.off+ln.size >= l.src.size:
		return value{}, damagedError{fmt.Errorf("the last line is cut off: %w", err)}
	case err != nil:
		return value{}, damagedError{err}
	case !v.isObject():
		return value{}, errShape
	}
	return v, nil
}

// Record is one message of a session and what its log says about it.
type Record struct {
	Message transcript.Message
	Time    time.Time // zero if the log does not say
	Line    int       // first line of the file that the message comes from, from 1
	Model   string    // which model answered, for assistant messages
	// Usage is what the provider billed for the request that this message answers, also for
	// one that asked for a summary. An answer of several records carries it once.
	Usage     *model.Usage
	Sidechain bool // a sub-agent's, not the conversation itself
	Abandoned bool // on a branch that was left by rewinding
}

// Info is what a log says about its session beside the messages. Fields that a format
// does not have are zero. It is complete once [Log.Records] has run to its end.
type Info struct {
	Format    Format
	Agent     string // what the program calls itself, which does not prove the format
	Version   string
	SessionID string
	Parent    string // the SessionID of the session whose sub-agent had this one
	Title     string
	Dir       string // working directory, the first if there were several
	Model     string // the newest
	Window    int    // tokens of the context window, where the log says or shows it
	// What the session used in all, and what the agent says that it cost, where the log has that only and not
	// the usage of each answer.
	Used *model.Usage
	USD  float64
	// System is the system prompt where the log holds it apart from the messages.
	System string
	Tools  []model.Tool

	Compactions []Compaction

	Sidechain int // records of sidechains, read or not
	Abandoned int // records of abandoned branches, read or not

	Damaged int      // how many lines could not be read
	Damage  []Damage // the first of them
}

// Compaction is a place where the logging agent compacted its own context.
type Compaction struct {
	At        int    // index of the record that follows, counting the records that are read
	Line      int    // of the entry that says so
	Trigger   string // "auto", "manual", …, as the log says
	PreTokens int    // size of the context before, if the log says
	Partial   bool   // only tool results were cleared
	Summary   string // what stands for the history from here on; also a record of its own
	Opaque    bool   // a summary exists that only its provider can read
}

// Damage is a line, or the rest of a document, that could not be read.
type Damage struct {
	Line int // counted from 1
	Err  error
}

// Error makes a damage report an error, which it is in strict mode.
func (d Damage) Error() string { return fmt.Sprintf("line %d: %v", d.Line, d.Err) }

// Unwrap returns the cause.
func (d Damage) Unwrap() error { return d.Err }

// Sessions that an agent keeps in a database are read as lines, one for each row:
//
//	{"db":AGENT,"file":DATABASE,"table":NAME,"row":{COLUMN:VALUE,…},"parts":[…]}
//
// The row of the session comes first, then those of its messages. Columns that have JSON have it as such; what
// is none is a string.

// rowOf recognizes the rows of an agent's databases.
func rowOf(agent Format) func(e value) bool {
	return func(e value) bool { return e.get("db").is(string(agent)) && e.get("row").isObject() }
}

// rows reads the session's row with head, and those of other tables with message.
func (l *Log) rows(head func(e, row value), message func(rec Record, e, row value) error) error {
	return l.lines(func(ln line, v value) error {
		row := v.get("row")
		if !rowOf(l.format.name)(v) {
			return errShape
		}
		if ln.num == 1 {
			l.info.SessionID = row.get("id").str()
			l.info.Title = row.get("title").str()
			head(v, row)
			return nil
		}
		return message(Record{Line: ln.num}, v, row)
	})
}

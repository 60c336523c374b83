package sessionlog

import (
	"fmt"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

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
	Title     string
	Dir       string // working directory, the first if there were several
	Model     string // the newest
	Window    int    // tokens of the context window, where the log says or shows it
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

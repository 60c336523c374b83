package synth

import (
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

// Truth is what is true of a synthetic session at its end. Messages are named by their
// index.
type Truth struct {
	Root        string // directory of the project; paths below are relative to it
	Files       []FileTruth
	Commands    []CommandTruth
	Calls       []CallTruth
	Literals    []LiteralTruth
	Said        []SaidTruth
	Constraints []ConstraintTruth
	Decisions   []DecisionTruth
	Plan        []PlanItem // the task list as it stands
	PlanMessage int        // the call that wrote it last; -1: there is none
}

// FileState is what became of a file.
type FileState string

// The states of a file at the end of a session.
const (
	FileRead    FileState = "read" // only looked at
	FileEdited  FileState = "edited"
	FileCreated FileState = "created"
	FileDeleted FileState = "deleted"
)

// FileTruth is a file that the session read or changed. A renamed file is two: the old
// path deleted, the new one created.
type FileTruth struct {
	Path    string
	State   FileState
	From    string // the path that it was renamed from
	New     bool   // it did not exist before the session
	Reads   int    // calls that showed lines of it as a file
	Changes int    // calls that changed it and succeeded
	First   int    // message of the first call that read or changed it
	Last    int    // message of the last of them
	Before  string // content before the session, empty if there was none
	After   string // content at the end, empty if there is none
}

// CommandTruth is a command that was run, by its exact text. Commands that only show
// files are not listed.
type CommandTruth struct {
	Command  string
	Runs     int
	Failures int
	Failed   bool   // the newest run failed
	Exit     int    // exit code of the newest run
	Message  int    // result of the newest run
	Line     string // the line of the newest output that tells how it went; may be empty
}

// CallTruth is a tool call.
type CallTruth struct {
	ID      string
	Tool    string
	Message int // the call's message
	Result  int // the message with its result
	Failed  bool
	Path    string // the file it read or changed, if it is about one
	StaleBy int    // the later call that made what it read out of date or repeated it, as an index into Calls; -1: none
}

// LiteralKind is the kind of an exact string.
type LiteralKind string

// The kinds of literals.
const (
	LiteralName    LiteralKind = "name" // function, type, constant, test
	LiteralPath    LiteralKind = "path"
	LiteralPort    LiteralKind = "port"
	LiteralSHA     LiteralKind = "sha"
	LiteralVersion LiteralKind = "version"
	LiteralID      LiteralKind = "id"
	LiteralError   LiteralKind = "error" // an error message
	LiteralMeasure LiteralKind = "measure"
	LiteralHost    LiteralKind = "host"
)

// LiteralTruth is an exact string that matters: one that the assistant wrote after it had
// been shown, or that was put there to be asked for. The three places name every message
// that holds it as a word, so that for any cut the uses after it that nothing in between
// shows again can be told.
type LiteralTruth struct {
	Text  string
	Kind  LiteralKind
	Line  string // the line or sentence that held it first
	First int
	By    transcript.Role // who brought it up: tool, user or assistant
	Shown []int           // later messages of tools and people that hold it
	Uses  []int           // later messages of the assistant that hold it
}

// Needs reports whether the assistant uses the literal after message cut, when everything
// that showed it stands before: the first such use, or -1.
func (l LiteralTruth) Needs(cut int) int {
	if l.First >= cut {
		return -1
	}
	for _, use := range l.Uses {
		if use < cut {
			continue
		}
		for _, shown := range l.Shown {
			if shown >= cut && shown < use {
				return -1
			}
		}
		return use
	}
	return -1
}

// SaidTruth is something that a person said.
type SaidTruth struct {
	Message int
	Text    string // verbatim
	Via     string // the tool in whose result it came; empty: typed as a message
	Answers int    // the message with the question that it answers; -1: none
}

// ConstraintTruth is a rule that a person laid down.
type ConstraintTruth struct {
	Text      string // the sentence, verbatim
	Message   int
	Restated  []int  // later messages that say it again in other words
	Withdrawn int    // the message that takes it back; -1: in force at the end
	LiftedBy  string // the sentence that takes it back
	Replaces  int    // index of the rule that it replaces; -1: none
}

// InForce reports whether the rule holds at the end.
func (c ConstraintTruth) InForce() bool { return c.Withdrawn < 0 }

// DecisionTruth is a choice between ways, with its reason.
type DecisionTruth struct {
	Message  int
	By       transcript.Role
	Text     string // the sentence, verbatim; in message Question if there is one
	Choice   string // occurs in Text
	Reason   string // occurs in Text; empty if none was given
	Question int    // the message whose question was answered by a word; -1: none
}

// PlanItem is an entry of the agent's task list.
type PlanItem struct {
	Text   string
	Status userwords.TaskStatus
}

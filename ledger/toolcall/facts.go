// Package toolcall reads one tool call and its result: what the call does, to which files,
// and how it ended. It knows the tools and the shell commands that the common agents use;
// [DescribeCall] and [DescribeResult] are pure functions of the text.
package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
)

// CallKind says what a tool call does, or what it does to one path.
type CallKind uint8

// The kinds of call, gravest last except for CallOther: a call that does several things
// has the gravest of their kinds. CallOther is what is not known, or what concerns only
// the agent itself.
const (
	CallOther  CallKind = iota
	CallRead            // looks at files or at the system
	CallCreate          // writes whole files
	CallEdit            // changes files
	CallDelete          // removes files
	CallRun             // runs a program: tests, builds, version control
	CallNet             // talks to other machines
)

var callKindNames = []string{"other", "read", "create", "edit", "delete", "run", "net"}

// String returns the kind's name as it appears in JSON output and queries.
func (k CallKind) String() string { return text.NameOf(callKindNames, k) }

// MarshalText writes the kind's name.
func (k CallKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the kind's name.
func (k *CallKind) UnmarshalText(name []byte) error {
	return parseName(k, "call kind", callKindNames, name)
}

// Outcome says how a call ended.
type Outcome uint8

// The outcomes.
const (
	Unanswered Outcome = iota // no result, or none yet
	Succeeded
	Failed
	Running // it goes on in the background, as far as is known
)

var outcomeNames = []string{"unanswered", "ok", "error", "running"}

// String returns the outcome's name as it appears in JSON output and queries.
func (o Outcome) String() string { return text.NameOf(outcomeNames, o) }

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the outcome's name.
func (o *Outcome) UnmarshalText(name []byte) error {
	return parseName(o, "outcome", outcomeNames, name)
}

func parseName[T ~uint8](v *T, what string, names []string, name []byte) error {
	i := slices.Index(names, string(name))
	if i < 0 {
		return fmt.Errorf("parse %s %q: want one of %q", what, name, names)
	}
	*v = T(i)
	return nil
}

// PathChange is what a call does to one path. The path is spelled as the agent spelled
// it. CallOther means that the call names the path and it is not known what it does there.
// A rename is two of them: the old path deleted, the new one created.
type PathChange struct {
	Path   string   `json:"path"`
	Dir    string   `json:"dir,omitempty"` // where the script had gone to by then, from its first directory
	Change CallKind `json:"change"`
	Source string   `json:"source,omitempty"` // copied or renamed from there

	// What of the file was read: lines First to Last, counted from 1, both included;
	// 0 leaves that end open. Some: parts that are not known, such as what a search
	// found.
	First int  `json:"first,omitempty"`
	Last  int  `json:"last,omitempty"`
	Some  bool `json:"some,omitempty"`
}

// Whole reports whether the path was read from beginning to end.
func (p PathChange) Whole() bool { return !p.Some && p.First <= 1 && p.Last == 0 }

// Covers reports whether a read shows all that an earlier read of the same path showed.
func (p PathChange) Covers(old PathChange) bool {
	switch {
	case p.Whole():
		return true
	case p.Some || old.Some:
		return false
	}
	return p.First <= max(old.First, 1) && (p.Last == 0 || old.Last != 0 && old.Last <= p.Last)
}

// Changes reports whether the call may change the path.
func (p PathChange) Changes() bool { return p.Change != CallRead }

// CallFacts is what a tool call says by itself, before it is answered. It is small
// whatever the size of the call. It is not stored but derived from the call's message anew.
type CallFacts struct {
	Tool string   `json:"tool"`
	Args string   `json:"args,omitempty"` // the arguments that matter, on one line, without secrets
	Kind CallKind `json:"kind"`

	// Harmless: the call changes nothing outside the conversation. Tools and commands
	// that are not known are not harmless.
	Harmless bool `json:"harmless,omitempty"`

	Paths []PathChange `json:"paths,omitempty"`

	// Command is a shell command without what does not matter to it (the directory,
	// redirected streams, filters of its output): equal commands do the same thing. Dir
	// is where it runs, if the call says so.
	Command string `json:"command,omitempty"`
	Dir     string `json:"dir,omitempty"`

	// Left is where the call leaves a shell that goes on with the next call, if it moves it.
	Left string `json:"left,omitempty"`

	// Steps: several commands, so that some may have been done although the call failed.
	// Filtered: another program had the last word, so that the exit code may not be the
	// command's own.
	Steps    bool `json:"steps,omitempty"`
	Filtered bool `json:"filtered,omitempty"`

	// Task is what goes on in the background and is asked about, or written to, by this call.
	Task string `json:"task,omitempty"`

	// Signature is equal for two calls that ask for the same thing.
	Signature string `json:"signature"`
}

// IsOneOf reports whether one of the patterns means the call's tool, by name or by class ("@read").
// An editor's call that shows a file is a read.
func (f *CallFacts) IsOneOf(patterns []string) bool {
	return client.MatchAny(patterns, f.Tool) ||
		f.Kind == CallRead && client.Of(f.Tool) == client.Editor && slices.Contains(patterns, "@read")
}

// own returns the facts in memory of their own: they live longer than the call.
func (f CallFacts) own() CallFacts {
	clone(&f.Tool, &f.Args, &f.Command, &f.Dir, &f.Left, &f.Task, &f.Signature)
	f.Paths = ownPaths(f.Paths)
	return f
}

// own returns the facts in memory of their own.
func (f ResultFacts) own() ResultFacts {
	clone(&f.ErrorLine, &f.Cwd, &f.Started)
	return f
}

// ownPaths does so for paths. They go into lines of a page, so none has more than one.
func ownPaths(list []PathChange) []PathChange {
	for i := range list {
		for _, p := range []*string{&list[i].Path, &list[i].Dir, &list[i].Source} {
			*p = strings.Clone(fence.Line(*p))
		}
	}
	return list
}

func clone(texts ...*string) {
	for _, t := range texts {
		*t = strings.Clone(*t)
	}
}

// ResultFacts is what a tool's result says, judged by the call that it answers.
type ResultFacts struct {
	Outcome   Outcome `json:"outcome"`
	ErrorLine string  `json:"error,omitempty"` // the most telling line of a failure, verbatim, or that the user rejected the call
	ExitCode  *int    `json:"exit_code,omitempty"`
	Lines     int     `json:"lines"`
	Bytes     int     `json:"bytes"`
	// Unchanged: it shows nothing, it says that an earlier result still holds.
	Unchanged bool `json:"unchanged,omitempty"`
	// Started is the name of what runs in the background, and has not ended as far as the result tells.
	Started string `json:"started,omitempty"`
	// Cwd is where the agent put its shell back to.
	Cwd string `json:"cwd,omitempty"`
	// Replaced: the file that the call wrote was there before.
	Replaced bool `json:"-"`
}

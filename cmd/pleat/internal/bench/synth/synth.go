// Package synth has made-up sessions of which everything is known that the bench asks for: the
// files that changed, how commands ended, what people said, and every exact string with the
// places that show it.
package synth

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/transcript"
)

// Session is a made-up session that looks like the real ones. It is legal on every wire: the
// message after one with calls answers them all, ids are unique, the first message is a person's
// and the last the assistant's.
type Session struct {
	Kind     string               `json:"kind"`
	Truth    Truth                `json:"truth"`
	Times    []time.Time          `json:"times"` // of each message, never decreasing; people leave and come back
	Messages []transcript.Message `json:"messages"`
}

// Truth is what is true of a session: what happened, each list in the order of its messages,
// which are named by their index. So the truth at any message is what stands before it.
type Truth struct {
	Files    []FileChange `json:"files"` // the newest of a path holds
	Runs     []Run        `json:"runs"`  // the newest of a command holds
	Literals []Literal    `json:"literals"`
	Said     []Said       `json:"said"`
	Rules    []Rule       `json:"rules"`
	Plans    []Plan       `json:"plans"` // the newest holds
}

// FileChange is a change of a file that succeeded. A renamed file has two: the old path is
// deleted, the new one created.
type FileChange struct {
	Message int    `json:"message"` // the call's result
	Path    string `json:"path"`    // absolute
	State   string `json:"state"`   // of the file from here on: created (in the session), edited or deleted
}

// Run is a run of a command that does not only show files.
type Run struct {
	Message int    `json:"message"` // its result
	Command string `json:"command"` // exact
	Failed  bool   `json:"failed"`
	Line    string `json:"line"` // of its output, which tells how it went; may be empty
}

// Literal is an exact string that tools or people brought up and that matters: the assistant
// wrote it later, or it was put there to be asked for. Its places are all messages that hold it.
type Literal struct {
	Message int    `json:"message"` // the first that holds it
	Text    string `json:"text"`
	Line    string `json:"line"`            // the line or sentence that held it first
	Name    bool   `json:"name,omitempty"`  // of a function, type, constant, test or file
	Shown   []int  `json:"shown,omitempty"` // later messages of tools and people that hold it
	Uses    []int  `json:"uses,omitempty"`  // later messages of the assistant that hold it
}

// Said is something that a person said, as a message or in the result of a tool that asked.
type Said struct {
	Message int    `json:"message"`
	Text    string `json:"text"` // verbatim
}

// Rule is a sentence by which a person laid down a rule.
type Rule struct {
	Message  int    `json:"message"`
	Text     string `json:"text"`                // verbatim
	Lifted   int    `json:"lifted,omitempty"`    // the message that takes it back; 0: it is in force
	LiftedBy string `json:"lifted_by,omitempty"` // the sentence that takes it back
}

// Plan is the agent's task list as a call wrote it.
type Plan struct {
	Message int    `json:"message"` // the call
	Items   []Task `json:"items"`
}

// Task is an entry of the task list.
type Task struct {
	Text   string `json:"text"`
	Status string `json:"status"` // open, in_progress or done
}

// Needs returns the first message from cut on in which the assistant uses the literal, if
// everything that showed it stands before the cut, else -1.
func (l Literal) Needs(cut int) int {
	from := func(list []int) int { // the first of them from cut on
		i, _ := slices.BinarySearch(list, cut)
		if i == len(list) {
			return -1
		}
		return list[i]
	}
	use, shown := from(l.Uses), from(l.Shown)
	if l.Message >= cut || shown >= 0 && shown < use {
		return -1
	}
	return use
}

//go:embed sessions.jsonl.gz
var packed []byte

// Sessions returns one session of each kind, of 100,000 tokens each: one agent mends a program,
// others review, write a feature, repair a pipeline, ask data and search the net. They were
// generated once, with their truth, and are not to be changed.
var Sessions = sync.OnceValue(func() []Session {
	list, err := unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("synth: sessions.jsonl.gz: %v", err)) // the file is part of the program
	}
	return list
})

func unpack(data []byte) (list []Session, err error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(r); ; {
		var s Session
		if err := dec.Decode(&s); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
}

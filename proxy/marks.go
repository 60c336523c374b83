package proxy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// mark is the data of a prefix entry: a request of the client, or an answer with hidden
// rounds. Marks are stored: fields may be added, names and meanings stay.
type mark struct {
	mode
	Hash    string  `json:"hash,omitempty"`   // of the client's messages
	Client  int     `json:"client,omitempty"` // their number
	At      int     `json:"at,omitempty"`     // length of the transcript then
	Tools   bool    `json:"tools,omitempty"`  // the request had tools
	Aliases []alias `json:"aliases,omitempty"`
	Reply   *reply  `json:"reply,omitempty"`
	Before  string  `json:"before,omitempty"` // session that the client's own compaction ended
	Drop    bool    `json:"drop,omitempty"`   // thinking was refused; it may be dropped from here on

	seq uint64
}

func (m mark) encode() []byte {
	data, _ := json.Marshal(m) // strings and numbers cannot fail
	return data
}

// lineage is the session that a request's session continues, zero if none.
func (m mark) lineage(tenant string) store.SessionKey {
	if m.Before == "" {
		return store.SessionKey{}
	}
	return store.SessionKey{Tenant: tenant, Session: m.Before}
}

// alias says that some messages of the client stand for others in the transcript: an answer whose
// hidden rounds the client has not seen, or a message with results that it has cleared.
type alias struct {
	Client int `json:"client"` // first message of the client
	Count  int `json:"count"`
	From   int `json:"from"` // messages of the transcript: from ≤ i < to
	To     int `json:"to"`
}

// reply is an answer with hidden rounds that the client has not sent back yet.
type reply struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Said string `json:"words,omitempty"` // hash of what the client saw of it
	Open bool   `json:"open,omitempty"`  // it is not complete: the request may come again

	seq uint64
}

// RecallMode says how a model gets back what was folded.
type RecallMode string

// The modes. A session keeps the one it began with.
const (
	// RecallByTools adds pleat's recall tools to the client's own from the first request
	// on and answers their calls inside the proxy; the client never sees them.
	RecallByTools RecallMode = "tools"
	// RecallByFile names files in stubs, which the client's own file tool can read.
	RecallByFile RecallMode = "file"
	// RecallOff makes stubs without handles.
	RecallOff RecallMode = "off"
)

// mode is how a session gets folded content back. Only the prefix may change after its
// first request.
type mode struct {
	Recall RecallMode `json:"recall"`
	Prefix string     `json:"prefix,omitempty"` // of our tools' names, where the client has tools of the same names
	Snip   bool       `json:"snip,omitempty"`   // the tool snip is among them: the policy snips
}

// toolPrefix comes before the names of the recall tools in sessions whose client has a
// tool of one of those names itself; twice, if it has one of these names too.
const toolPrefix = "pleat_"

// free returns the mode with names for our tools that none of the client's has. Clients
// add tools in the middle of a conversation.
func (m mode) free(req *request) mode {
	taken := func(t model.Tool) bool { return m.own(t.Name) }
	for slices.ContainsFunc(req.tools, taken) || slices.ContainsFunc(req.inInput, taken) {
		m.Prefix += toolPrefix
	}
	return m
}

// own reports whether a tool is one of ours.
func (m mode) own(name string) bool {
	if m.Recall != RecallByTools {
		return false
	}
	bare, ok := strings.CutPrefix(name, m.Prefix)
	return ok && (slices.ContainsFunc(recallTools, func(t model.Tool) bool { return t.Name == bare }) ||
		m.Snip && bare == recall.ToolSnip)
}

var recallTools = recall.Tools()

// tools lists our tools as a request gets them, none if it has no tools itself.
func (m mode) tools(req *request) []model.Tool {
	if m.Recall != RecallByTools || !req.hasTools() {
		return nil
	}
	return m.prefixed()
}

// prefixed lists the recall tools by the names they have in the session.
func (m mode) prefixed() []model.Tool {
	list := slices.Clone(recallTools)
	if m.Snip {
		list = append(list, recall.SnipTool())
	}
	for i := range list {
		list[i].Name = m.Prefix + list[i].Name
	}
	return list
}

// track is what the marks of a session say together: which prefixes of the client's conversation
// the session has had as requests, and where they are in its transcript.
type track struct {
	tenant   string
	mode     mode
	before   store.SessionKey // the session that the client's own compaction ended, zero if none
	drop     bool             // the provider refused thinking of it, and may drop such from then on
	renamed  bool             // stubs of the session may have other names for our tools than those in use
	tools    bool             // its requests have tools
	last     time.Time        // when the last request came
	requests map[transcript.Hash]mark
	replies  map[int]reply // answers with hidden rounds, by the message they begin at
	answer   reply         // the last one without hidden rounds; it is not stored
	// client is the client's message for each message of the transcript that a mark covers,
	// negative if the client has none, because it is of a hidden round, or no longer has it whole.
	client  []int
	covered int // client's messages that client covers
}

func newTrack(tenant string) track {
	return track{tenant: tenant, requests: make(map[transcript.Hash]mark), replies: make(map[int]reply)}
}

// take adds a mark that was written at a time.
func (t *track) take(m mark, at time.Time) {
	if m.Recall != "" {
		t.rename(m.mode)
	}
	t.drop = t.drop || m.Drop
	if m.Reply != nil {
		r := *m.Reply
		r.seq = m.seq
		t.replies[r.From] = r
		return
	}
	h, err := transcript.ParseHash(m.Hash)
	if err != nil {
		return
	}
	t.last, t.tools, t.before = at, t.tools || m.Tools, m.lineage(t.tenant)
	t.requests[h] = m
	t.client, t.covered = extend(t.client, t.covered, m.Aliases, m.At)
}

// rename changes the mode. Of two prefixes the longer is the newer one.
func (t *track) rename(m mode) {
	if len(m.Prefix) >= len(t.mode.Prefix) {
		t.renamed = t.renamed || t.mode.Recall != "" && t.mode != m
		t.mode = m
	}
}

// extend continues the map from transcript to client up to message at.
func extend(client []int, covered int, aliases []alias, at int) ([]int, int) {
	plain := func(to int) {
		for ; len(client) < to; covered++ {
			client = append(client, covered)
		}
	}
	for _, a := range aliases {
		plain(a.From)
		if a.To > len(client) {
			covered = a.Client + a.Count
		}
		client = append(client, make([]int, max(a.To-len(client), 0))...)
		for i := a.From; i < a.To; i++ { // those before the end were whole in an earlier request
			client[i] = -1
		}
	}
	plain(at)
	return client, covered
}

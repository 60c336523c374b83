package lineage

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Mark is the data of a prefix entry: a request of the client, or an answer with hidden
// rounds. Marks are stored: fields may be added, names and meanings stay.
type Mark struct {
	Mode
	Hash    string  `json:"hash,omitempty"`   // of the client's messages
	Client  int     `json:"client,omitempty"` // their number
	At      int     `json:"at,omitempty"`     // length of the transcript then
	Tools   bool    `json:"tools,omitempty"`  // the request had tools
	Aliases []Alias `json:"aliases,omitempty"`
	Reply   *Reply  `json:"reply,omitempty"`
	Before  string  `json:"before,omitempty"` // session that the client's own compaction ended
	Drop    bool    `json:"drop,omitempty"`   // thinking was refused; it may be dropped from here on

	Seq uint64 `json:"-"` // of its entry
}

func (m Mark) Encode() []byte {
	data, _ := json.Marshal(m) // strings and numbers cannot fail
	return data
}

// lineage is the session that a request's session continues, zero if none.
func (m Mark) lineage(tenant string) store.SessionKey {
	if m.Before == "" {
		return store.SessionKey{}
	}
	return store.SessionKey{Tenant: tenant, Session: m.Before}
}

// Alias says that some messages of the client stand for others in the transcript: an answer whose
// hidden rounds the client has not seen, or a message with results that it has cleared.
type Alias struct {
	Client int `json:"client"` // first message of the client
	Count  int `json:"count"`
	From   int `json:"from"` // messages of the transcript: from ≤ i < to
	To     int `json:"to"`
}

// Reply is an answer with hidden rounds that the client has not sent back yet.
type Reply struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Said string `json:"words,omitempty"` // hash of what the client saw of it
	Open bool   `json:"open,omitempty"`  // it is not complete: the request may come again

	seq uint64
}

// RecallMode says how a model gets back what was folded.
type RecallMode string

// The modes; see package proxy.
const (
	RecallByTools RecallMode = "tools"
	RecallByFile  RecallMode = "file"
	RecallOff     RecallMode = "off"
)

// Mode is how a session gets folded content back. Only the prefix may change after its
// first request.
type Mode struct {
	Recall RecallMode `json:"recall"`
	Prefix string     `json:"prefix,omitempty"` // of our tools' names, where the client has tools of the same names
	Snip   bool       `json:"snip,omitempty"`   // the tool snip is among them: the policy snips
	Why    string     `json:"why,omitempty"`    // recall cannot be offered, though it is not turned off
}

// ToolPrefix comes before the names of the recall tools in sessions whose client has a
// tool of one of those names itself; twice, if it has one of these names too.
const ToolPrefix = "pleat_"

// Free returns the mode with names for our tools that none of the client's has. Clients
// add tools in the middle of a conversation.
func (m Mode) Free(req *protocol.Request) Mode {
	taken := func(t model.Tool) bool { return m.Own(t.Name) }
	for slices.ContainsFunc(req.Tools, taken) || slices.ContainsFunc(req.InInput, taken) {
		m.Prefix += ToolPrefix
	}
	return m
}

// Own reports whether a tool is one of ours.
func (m Mode) Own(name string) bool {
	named := func(t model.Tool) bool { return t.Name == name }
	return m.Recall == RecallByTools && strings.HasPrefix(name, m.Prefix) && slices.ContainsFunc(m.Prefixed(), named)
}

// Tools lists our tools as a request gets them, none if it has no tools itself.
func (m Mode) Tools(req *protocol.Request) []model.Tool {
	if m.Recall != RecallByTools || !req.HasTools() {
		return nil
	}
	return m.Prefixed()
}

// Prefixed lists the recall tools by the names they have in the session.
func (m Mode) Prefixed() []model.Tool {
	list := recall.Tools()
	if m.Snip {
		list = append(list, recall.SnipTool())
	}
	for i := range list {
		list[i].Name = m.Prefix + list[i].Name
	}
	return list
}

// Track is what the marks of a session say together: which prefixes of the client's conversation
// the session has had as requests, and where they are in its transcript.
type Track struct {
	tenant   string
	Mode     Mode
	Before   store.SessionKey // the session that the client's own compaction ended, zero if none
	Drop     bool             // the provider refused thinking of it, and may drop such from then on
	Renamed  bool             // stubs of the session may have other names for our tools than those in use
	Tools    bool             // its requests have tools
	Last     time.Time        // when the last request came
	Requests map[transcript.Hash]Mark
	replies  map[int]Reply // answers with hidden rounds, by the message they begin at
	Newest   LastExchange  // its answer is not stored
	// Client is the client's message for each message of the transcript that a mark covers,
	// negative if the client has none, because it is of a hidden round, or no longer has it whole.
	Client  []int
	covered int // client's messages that Client covers
	Backs   int // how often something was taken back
}

func NewTrack(tenant string) Track {
	return Track{tenant: tenant, Requests: make(map[transcript.Hash]Mark), replies: make(map[int]Reply)}
}

// Take adds a mark that was written at a time.
func (t *Track) Take(m Mark, at time.Time) {
	if m.Recall != "" {
		t.Rename(m.Mode)
	}
	t.Drop = t.Drop || m.Drop
	if m.Reply != nil {
		r := *m.Reply
		r.seq = m.Seq
		t.replies[r.From] = r
		return
	}
	h, err := transcript.ParseHash(m.Hash)
	if err != nil {
		return
	}
	t.Last, t.Tools, t.Before = at, t.Tools || m.Tools, m.lineage(t.tenant)
	t.Requests[h] = m
	t.Newest = LastExchange{Client: m.Client}
	t.Client, t.covered = Extend(t.Client, t.covered, m.Aliases, m.At)
}

// TakeBack forgets what a session gives up: marks that have it are of other conversations now.
func (t *Track) TakeBack(b conv.Back) {
	t.Backs++
	at := b.From
	if b.Again != nil {
		at--
	}
	maps.DeleteFunc(t.Requests, func(_ transcript.Hash, m Mark) bool { return m.At > at })
	if n := min(b.From+b.Count, len(t.Client)); n > b.From {
		t.Client, t.covered = slices.Delete(t.Client, b.From, n), t.covered-(n-b.From)
	}
	replies := make(map[int]Reply, len(t.replies))
	for _, r := range t.replies {
		if r.From >= b.From {
			r.From, r.To = r.From-b.Count, r.To-b.Count
		}
		replies[r.From] = r
	}
	t.replies = replies
}

// Answered takes the hash of the answer to a request, if that is the newest.
func (t *Track) Answered(m Mark, said string) {
	if t.Newest.Client == m.Client {
		t.Newest = LastExchange{m.Client, m.At, said, m.Own}
	}
}

// Rename changes the mode. Of two prefixes the longer is the newer one.
func (t *Track) Rename(m Mode) {
	if len(m.Prefix) >= len(t.Mode.Prefix) {
		t.Renamed = t.Renamed || t.Mode.Recall != "" && t.Mode != m
		t.Mode = m
	}
}

// Extend continues the map from transcript to client up to message at.
func Extend(client []int, covered int, aliases []Alias, at int) ([]int, int) {
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

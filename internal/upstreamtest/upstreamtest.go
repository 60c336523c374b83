// Package upstreamtest is a model server on loopback that follows a script, for tests with
// real clients: it speaks the Messages, Chat Completions, Responses and Gemini wires,
// streaming or not, asks the client to run shell commands with the client's own tool, and checks
// every request it gets.
//
// It remembers next to nothing between the requests of a conversation: every command prints which
// step it is, and the highest step in a request says which comes next. So it works through
// any proxy, with resumed clients and with the clients' own compactions.
package upstreamtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
)

// Options say what happens. The zero value asks for three small commands.
type Options struct {
	Calls       int    // commands before the final answer; 0: three
	Bytes       int    // output of each command; 0: 200
	Parallel    int    // commands in one answer; 0: one
	Files       bool   // each command makes a file of its own, made-1.txt and so on
	Limit       int    // prompts of more tokens are refused as too long; 0: none are
	RecallAt    int    // after this step an earlier output is asked for, where recall tools are offered; 0: never
	Recalls     int    // recalls, one after the other; 0: one
	Endless     bool   // recalls go on until a user says [GoOn]
	Beside      bool   // the recall call comes beside a command
	FailAt      int    // the first request after this step fails once; 0: none does
	Fail        string // how: "400", "413", "stream" (too long), "429", "500", "529", "cut" (in its text), "silent"
	FailsRecall bool   // instead, the first request with the answer to a recall fails
	Inside      bool   // pages are made in the client: the way back is a command, or a tool it has not shown yet
	Packed      bool   // replies are compressed with Brotli, whatever the request accepts
	Thinking    bool   // answers begin with thinking, on the wires that have it
	Binds       bool   // thinking of the models that bind it is valid only behind what it was made behind
	PauseAt     int    // after this step the model says that it waits, until a user says [GoOn]; 0: it never does
	HoldAt      int    // this command waits for a line from the address Hold, until a user says [GoOn]; 0: none does
	Hold        string // a host and a port
	AgentAt     int    // after this step a sub-agent is asked for, if the client has such a tool; 0: never
	Agent       int    // commands of a sub-agent; 0: two

	Server string // an MCP server of the client: its Tool is called with Input, once, when it is offered
	Tool   string
	Input  string

	Model model.Model // whose rules requests are checked by
	// Price is what the bill is made with. With CacheRead, prompts that begin like earlier ones are read from a cache.
	Price model.Price

	// Decoders read bodies of these Content-Encodings; Codex sends zstd.
	Decoders map[string]func(io.Reader) (io.ReadCloser, error)
}

// GoOn is what a user says to a model that waits.
const GoOn = "Go on with the steps."

// showsFold finds a page or a stub.
var showsFold = regexp.MustCompile(`\[(?:pleat|folded): `)

// showsCut finds what stands where a text was shortened.
var showsCut = regexp.MustCompile(`\[… [0-9,]+ bytes? folded`)

// Exchange is one request as the server saw it.
type Exchange struct {
	Wire       string   `json:"wire"`
	Model      string   `json:"model"`
	Side       bool     `json:"side,omitempty"`      // a request without tools, as for a title, or for a summary
	Summary    bool     `json:"summary,omitempty"`   // the client asks for a summary of its conversation
	Compacted  bool     `json:"compacted,omitempty"` // the client has cut its conversation by itself
	Agent      bool     `json:"agent,omitempty"`     // it is a sub-agent's
	Offered    bool     `json:"offered,omitempty"`   // the recall tools are among its tools
	Step       int      `json:"step"`                // commands that were done before it
	Messages   int      `json:"messages"`
	Tokens     int      `json:"tokens"`
	Bytes      int      `json:"bytes"`
	Status     int      `json:"status"`
	Violations []string `json:"violations,omitempty"`
	Empty      bool     `json:"empty,omitempty"`    // the client says that the newest command printed nothing
	Folded     bool     `json:"folded,omitempty"`   // it shows stubs or a page
	Recalled   string   `json:"recalled,omitempty"` // "exact" or what was wrong, with the answer to a recall call
	Found      bool     `json:"found,omitempty"`    // the client's own tool was asked to find the MCP server's
	Served     string   `json:"served,omitempty"`   // what the MCP server answered
}

// Server is the model server. It is safe for concurrent use.
type Server struct {
	o     Options
	asked func(Exchange)

	mu     sync.Mutex
	log    []Exchange
	failed bool
	agent  bool // a sub-agent was asked for

	recalls int          // in the newest conversation
	asks    atomic.Int64 // recalls that were asked for
	ids     int
	bill    Bill
	seen    map[[32]byte]bool // beginnings of prompts that the cache has
}

// New makes a server.
func New(o Options) *Server {
	o.Calls, o.Agent = cmp.Or(o.Calls, 3), cmp.Or(o.Agent, 2)
	o.Bytes, o.Parallel, o.Recalls = cmp.Or(o.Bytes, 200), max(o.Parallel, 1), max(o.Recalls, 1)
	return &Server{o: o, seen: make(map[[32]byte]bool)}
}

// Asked lets a function be called with every request, before it is answered. The server must
// not be in use yet.
func (s *Server) Asked(f func(Exchange)) { s.asked = f }

// Log lists the exchanges so far, in order of arrival.
func (s *Server) Log() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var wire *wire
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		wire = &messages
	case strings.HasSuffix(path, "/chat/completions"):
		wire = &chat
	case strings.HasSuffix(path, "/responses"):
		wire = &responses
	case strings.HasSuffix(path, "enerateContent"):
		wire = geminiFor(r.URL)
	case strings.HasSuffix(path, "/models") && r.Method == http.MethodGet:
		models := []object{{"id": "scripted", "object": "model", "owned_by": "script"}}
		reply(w, http.StatusOK, object{"object": "list", "data": models})
		return
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		body, _ := s.readBody(r)
		n := tokens.O200k().Count(string(body))
		reply(w, http.StatusOK, object{"input_tokens": n, "totalTokens": n})
		return
	}
	if wire == nil && slices.Contains(otherPaths, r.URL.Path) {
		s.answerUnread(w, r)
		return
	}
	if wire == nil || r.Method != http.MethodPost {
		reply(w, http.StatusNotFound, object{"error": object{"type": "not_found_error", "message": "no such path"}})
		return
	}
	body, err := s.readBody(r)
	if err == nil {
		err = s.answer(w, r, wire, body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, wire.Refuse("invalid_request_error", err.Error()))
	}
}

func (s *Server) readBody(r *http.Request) ([]byte, error) {
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" {
		return io.ReadAll(r.Body)
	}
	decode := s.o.Decoders[encoding]
	if decode == nil {
		return nil, fmt.Errorf("read body: no decoder for %s", encoding)
	}
	d, err := decode(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	defer d.Close()
	return io.ReadAll(d)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, on *wire, body []byte) error {
	req, err := on.decode(body, s.o.Model)
	if err != nil {
		return err
	}
	req.tokens = tokens.O200k().Count(string(body))
	a := s.next(req)
	unbound := ""
	if a.signature = "c2lnbmVk"; s.o.Binds && (req.thinks || s.o.Thinking) && binding.MatchString(req.model) {
		var wrong []string
		unbound, a.signature, wrong = bind(req.body, r.Header)
		req.violations = append(req.violations, wrong...)
	}
	if !s.o.Inside {
		req.violations = append(req.violations, req.barred()...)
	}
	x := Exchange{
		Wire: on.name, Model: req.model, Side: req.side(), Summary: req.summary(), Compacted: compacted.in(req.body),
		Agent: req.isAgent(), Offered: req.offered(), Step: req.step(), Messages: len(req.messages),
		Tokens: req.tokens, Bytes: len(body), Status: http.StatusOK,
		Violations: slices.Concat(req.violations, req.unseen()),
		Empty:      req.empty(), Folded: showsFold.Match(body), Recalled: a.recalled, Served: req.served(),
		Found: strings.Contains(req.body, findID),
	}
	fail := s.failure(req)
	if unbound != "" {
		fail = "unbound"
	}
	x.Status = statusOf(fail)
	s.mu.Lock()
	s.log = append(s.log, x)
	s.ids++
	a.id = fmt.Sprintf("%s%06d", on.prefix, s.ids)
	a.model, a.prompt = req.model, req.tokens
	if fail == "" {
		s.charge(&a, req)
	}
	s.mu.Unlock()
	if s.asked != nil {
		s.asked(x)
	}

	s.send(w, r, on, req, a, fail, unbound)
	return nil
}

// send writes an answer, or fails as asked.
func (s *Server) send(
	w http.ResponseWriter, r *http.Request, on *wire, req *request, a answer, fail, unbound string,
) {
	status := statusOf(fail)
	if s.o.Packed {
		p := pack(w)
		defer p.end()
		w = p
	}
	switch {
	case fail == "silent":
		keepSilent(r)
	case fail == "cut":
		w = &cutting{w, a.text, req.stream}
	case fail == "unbound":
		refuse(w, status, on.Refuse("invalid_request_error", fmt.Sprintf(unboundText, unbound)))
		return
	case fail == "stream" && req.stream:
		streamTo(w).write(on.ErrorEvent(s.refusal(on, fail, req)))
		return
	case status != http.StatusOK:
		refuse(w, status, s.refusal(on, fail, req))
		return
	}
	if req.stream {
		on.stream(streamTo(w), a, req)
	} else {
		reply(w, http.StatusOK, on.whole(a))
	}
}

// failure returns how this request fails; empty: it does not.
func (s *Server) failure(req *request) string {
	if s.o.Limit > 0 && req.tokens > s.o.Limit {
		return "400"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.o.FailAt > 0 && req.step() >= s.o.FailAt || s.o.FailsRecall && req.recalled() != ""
	if !due || s.failed || req.side() {
		return ""
	}
	s.failed = true
	return s.o.Fail
}

// refusal is how the provider says that a request failed.
func (s *Server) refusal(on *wire, fail string, req *request) []byte {
	switch fail {
	case "413":
		return on.Refuse("request_too_large", "Request exceeds the maximum size")
	case "429":
		return on.Refuse("rate_limit_error", "Number of requests has exceeded your rate limit")
	case "529":
		return on.Refuse("overloaded_error", "Overloaded")
	case "500":
		return on.Refuse("api_error", "Internal server error")
	}
	return on.TooLong(req.tokens, cmp.Or(s.o.Limit, req.tokens*9/10))
}

func refuse(w http.ResponseWriter, status int, body []byte) { reply(w, status, json.RawMessage(body)) }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody is left to tell
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/transcript"
)

// writeJSON prints one object for programs. Every object has a member "format" that names
// its shape and version; docs/cli.md specifies them. Members may be added within a
// version; nothing is renamed or removed.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// The shapes and their versions.
const (
	formatShow     = "pleat/show/1"
	formatPlan     = "pleat/plan/1"
	formatCompact  = "pleat/compact/1"
	formatLedger   = "pleat/ledger/1"
	formatSearch   = "pleat/search/1"
	formatDiff     = "pleat/diff/1"
	formatPolicies = "pleat/policies/2"
	formatPrices   = "pleat/prices/1"
	formatSessions = "pleat/sessions/1"

	formatStored = "pleat/stored/1"
	formatUnfold = "pleat/unfold/1"
	formatVerify = "pleat/verify/1"
	formatImport = "pleat/import/1"
	formatGC     = "pleat/gc/1"

	formatStoreCheck   = "pleat/store-check/1"
	formatStoreMigrate = "pleat/store-migrate/1"
	formatStoreStats   = "pleat/store-stats/1"
	formatStoreCopy    = "pleat/store-copy/1"
)

// sourceJSON says which session an object is about.
type sourceJSON struct {
	File    string `json:"file"`
	Format  string `json:"format"` // of the file
	Agent   string `json:"agent,omitempty"`
	Version string `json:"version,omitempty"`
	ID      string `json:"id,omitempty"`
	Title   string `json:"title,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Model   string `json:"model,omitempty"`
	Damaged int    `json:"damaged_lines"`
}

func (f *sessionFile) json() sourceJSON {
	i := f.info
	return sourceJSON{
		File: f.name, Format: string(i.Format), Agent: i.Agent, Version: i.Version, ID: i.SessionID,
		Title: i.Title, Dir: i.Dir, Model: i.Model, Damaged: i.Damaged,
	}
}

// overview is what show knows of a session.
type overview struct {
	Format      string           `json:"format"`
	Source      sourceJSON       `json:"source"`
	Begin       *time.Time       `json:"begin,omitempty"`
	End         *time.Time       `json:"end,omitempty"`
	Messages    messageCounts    `json:"messages"`
	Rounds      int              `json:"rounds"`
	Calls       callCounts       `json:"calls"`
	Tokens      tokenCounts      `json:"tokens"`
	Tools       []toolShare      `json:"tools"`
	Largest     []blockShare     `json:"largest"`
	Compactions []compactionJSON `json:"compactions"`
	Window      windowJSON       `json:"window"`
	USD         float64          `json:"usd,omitempty"` // what the requests cost, where usage and prices are known

	toolCount int // of all tools
}

type messageCounts struct {
	All       int `json:"all"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Tool      int `json:"tool"` // of role tool, or user messages that hold results
	System    int `json:"system"`
	Typed     int `json:"typed"` // a person typed something in them
	Sidechain int `json:"sidechain"`
	Abandoned int `json:"abandoned"`
}

type callCounts struct {
	All        int `json:"all"`
	Failed     int `json:"failed"`
	Unanswered int `json:"unanswered"`
}

type tokenCounts struct {
	All    int          `json:"all"`
	Model  string       `json:"model"` // whose tokens
	ByKind []namedShare `json:"by_kind"`
}

type namedShare struct {
	Name   string `json:"name"`
	Blocks int    `json:"blocks"`
	Tokens int    `json:"tokens"`
}

type toolShare struct {
	Name    string `json:"name"`
	Calls   int    `json:"calls"`
	Failed  int    `json:"failed"`
	Tokens  int    `json:"tokens"` // calls and results
	Results int    `json:"result_tokens"`
}

type blockShare struct {
	Message int    `json:"message"` // number in the session, from 1
	Line    int    `json:"line"`    // of the file
	Kind    string `json:"kind"`
	What    string `json:"what"`
	Tokens  int    `json:"tokens"`
}

type compactionJSON struct {
	Before  int    `json:"before_message"` // number of the message that follows
	Line    int    `json:"line"`
	Trigger string `json:"trigger,omitempty"`
	Tokens  int    `json:"tokens_before,omitempty"` // as the log says
	Partial bool   `json:"partial,omitempty"`
	Opaque  bool   `json:"opaque,omitempty"`
	Summary int    `json:"summary_tokens,omitempty"`
}

// windowJSON is the size of the prompt over the session's requests.
type windowJSON struct {
	Reported bool  `json:"reported"` // by the provider; otherwise estimated
	Size     int   `json:"size"`     // the model's window, 0: not known
	Largest  int   `json:"largest"`
	Prompts  []int `json:"prompts"`
}

// planJSON is what "pleat plan --json" prints.
type planJSON struct {
	Format  string         `json:"format"`
	Source  sourceJSON     `json:"source"`
	Policy  string         `json:"policy"`
	Tokens  budgetJSON     `json:"tokens"`
	Levers  []leverShare   `json:"levers"`
	Folds   []foldJSON     `json:"folds"`
	Cache   fold.CacheCost `json:"cache"`
	Warning string         `json:"warning,omitempty"`

	folds []*fold.Fold
	whats map[transcript.BlockRef]string
	all   bool // for people: list all folds
}

// compactJSON is what "pleat compact --json" prints.
type compactJSON struct {
	Format   string       `json:"format"`
	Source   sourceJSON   `json:"source"`
	Session  string       `json:"session"` // in the store
	Policy   string       `json:"policy"`
	Tokens   budgetJSON   `json:"tokens"`
	Messages []viewJSON   `json:"messages"`
	Folds    []foldJSON   `json:"folds"`
	Ledger   []entryJSON  `json:"ledger"`
	Pins     []pinJSON    `json:"pins"`
	Anchors  []anchorJSON `json:"anchors"`
	Report   reportJSON   `json:"report"`
}

// reportJSON is the engine's report; the folds stand beside it.
type reportJSON struct {
	Messages int            `json:"messages"` // in the session
	Shown    int            `json:"shown"`    // in the view
	Levers   []leverShare   `json:"levers"`
	Epochs   []pleat.Epoch  `json:"epochs"`
	Snapshot fold.Snapshot  `json:"snapshot"`
	Cache    fold.CacheCost `json:"cache"`
	Warning  string         `json:"warning,omitempty"`
}

type budgetJSON struct {
	Before int `json:"before"`
	After  int `json:"after"`
	Budget int `json:"budget"`
}

// viewJSON is one message of the view.
type viewJSON struct {
	Role    transcript.Role `json:"role"`
	Message int             `json:"message,omitempty"` // number in the session, from 1; none: pleat's own
	Handle  string          `json:"handle,omitempty"`  // pleat's own: of the messages it stands for
	Blocks  []blockJSON     `json:"blocks"`
}

type blockJSON struct {
	Kind   string `json:"kind"`
	Text   string `json:"text,omitempty"` // words, a call's input, a result's text
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
	Error  bool   `json:"error,omitempty"`
	Type   string `json:"type,omitempty"`   // of images and of blocks that pleat does not know
	Handle string `json:"handle,omitempty"` // if the text is a stub: of what was folded
}

type foldJSON struct {
	Handle   string          `json:"handle"`
	Lever    string          `json:"lever"`
	Reason   string          `json:"reason"`
	Messages [2]int          `json:"messages"`        // first and last, from 1
	Block    *int            `json:"block,omitempty"` // only this block of the message, from 0
	Before   int             `json:"tokens_before"`
	After    int             `json:"tokens_after"`
	Hash     transcript.Hash `json:"sha256"`
	Bytes    int             `json:"bytes"`
	Lines    int             `json:"lines"`
}

// entryJSON is a ledger entry and where its call stands.
type entryJSON struct {
	ledger.Entry
	Message int `json:"message"` // number of the message with the call, from 1
}

type pinJSON struct {
	Text    string `json:"text"`
	Kind    string `json:"kind"`              // "pin": by --pin; "rule": a standing rule that a person gave
	Message int    `json:"message,omitempty"` // where it was said, from 1
}

// anchorJSON is an exact name in what was folded.
type anchorJSON struct {
	Text  string `json:"text"`
	Count int    `json:"count"` // how often what was folded has it
	Shown bool   `json:"shown"` // the view has it still
}

// leverShare is what one lever did.
type leverShare struct {
	Lever  string `json:"lever"`
	Folds  int    `json:"folds"`
	Before int    `json:"tokens_before"`
	After  int    `json:"tokens_after"`
}

// diffJSON is what "pleat diff --json" prints.
type diffJSON struct {
	Format string      `json:"format"`
	Source sourceJSON  `json:"source"`
	Policy string      `json:"policy"`
	Window int         `json:"window"`
	Before sideJSON    `json:"before"` // everything that was said
	After  sideJSON    `json:"after"`  // what the model would be shown at the end
	Epochs []epochJSON `json:"epochs"`

	whats map[transcript.BlockRef]string
	folds bool // for people: list the folds of every epoch
}

type sideJSON struct {
	Messages int        `json:"messages"`
	Tokens   int        `json:"tokens"`
	Parts    fold.Parts `json:"parts"`
}

// epochJSON is what one epoch did.
type epochJSON struct {
	Epoch   int          `json:"epoch"`
	Message int          `json:"message"` // opened before the answer that is this message, from 1
	Trigger fold.Trigger `json:"trigger"`
	Before  int          `json:"tokens_before"`
	After   int          `json:"tokens_after"`
	Removed fold.Parts   `json:"removed"` // tokens; negative: added
	Levers  []leverShare `json:"levers"`
	Folds   []foldJSON   `json:"folds"`
	Warning string       `json:"warning,omitempty"`

	folds []*fold.Fold
}

// ledgerJSON is what "pleat ledger --json" prints.
type ledgerJSON struct {
	Format   string             `json:"format"`
	Source   sourceJSON         `json:"source"`
	Filter   ledger.Filter      `json:"filter"`
	Counts   ledger.Counts      `json:"counts"` // of the entries
	Entries  []entryJSON        `json:"entries"`
	Changed  []ledger.PathState `json:"changed"`   // files that the session changed
	ReadOnly []ledger.PathState `json:"read_only"` // files that it only looked at

	all   int  // calls of the session
	files bool // for people: list the files, not the calls
}

// searchJSON is what "pleat search --json" prints.
type searchJSON struct {
	Format   string      `json:"format"`
	Query    string      `json:"query"`
	Searched int         `json:"searched"` // sessions
	Sessions []foundJSON `json:"sessions"` // those with hits
}

type foundJSON struct {
	Session string             `json:"session,omitempty"` // in the store
	File    string             `json:"file,omitempty"`
	Hits    []recall.SearchHit `json:"hits"`
}

// sessionsJSON is what "pleat sessions --json" prints.
type sessionsJSON struct {
	Format string      `json:"format"`
	Agents []agentJSON `json:"agents"` // those with sessions

	home  string
	paths bool // for people: the files alone
}

type agentJSON struct {
	Agent    string         `json:"agent"`
	Found    int            `json:"found"`    // all of its sessions
	Sessions []foundSession `json:"sessions"` // newest first
}

type foundSession struct {
	File     string    `json:"file"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
	Tokens   int       `json:"tokens"`
	Counted  bool      `json:"counted"` // else the tokens are estimated from the size
	Messages int       `json:"messages,omitempty"`
	Title    string    `json:"title,omitempty"`
	ID       string    `json:"id,omitempty"` // opencode: what to export
	Problem  string    `json:"problem,omitempty"`
}

type policiesJSON struct {
	Format   string        `json:"format"`
	Policies []fold.Policy `json:"policies"`
}

// pricesJSON is what "pleat prices --json" prints.
type pricesJSON struct {
	Format string      `json:"format"`
	AsOf   string      `json:"as_of"`
	Models []modelJSON `json:"models"`
}

type modelJSON struct {
	ID        string      `json:"id"`
	Provider  string      `json:"provider,omitempty"`
	Window    int         `json:"window"`
	MaxInput  int         `json:"max_input,omitempty"`
	MaxOutput int         `json:"max_output,omitempty"`
	Encoding  string      `json:"encoding"`
	Ratio     float64     `json:"ratio"`
	Prices    []priceJSON `json:"prices"`
	Retires   string      `json:"retires,omitempty"`
}

// priceJSON is in USD for a million tokens.
type priceJSON struct {
	Above        int     `json:"above"`
	Input        float64 `json:"input"`
	CacheWrite   float64 `json:"cache_write"`
	CacheWrite1h float64 `json:"cache_write_1h"`
	CacheRead    float64 `json:"cache_read"`
	Output       float64 `json:"output"`
}

// storedListJSON is what "pleat stored --json" prints.
type storedListJSON struct {
	Format   string       `json:"format"`
	Sessions []storedJSON `json:"sessions"`

	names bool // for people: the names alone
}

// storedJSON is a session of the store.
type storedJSON struct {
	Tenant  string    `json:"tenant,omitempty"`
	Session string    `json:"session"`
	Entries uint64    `json:"entries"`
	Bytes   int64     `json:"bytes"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Begins  string    `json:"begins,omitempty"` // the first words of the user
}

// gcJSON is what "pleat gc --json" prints.
type gcJSON struct {
	Format   string       `json:"format"`
	Deleted  bool         `json:"deleted"`
	Sessions []storedJSON `json:"sessions"`
}

// unfoldedJSON is what "pleat unfold --json" prints. JSON has no bytes that are not UTF-8;
// content with such bytes is given in base64.
type unfoldedJSON struct {
	Format   string   `json:"format"`
	Sessions []string `json:"sessions"`
	recall.Unfolded
	Content *string `json:"content,omitempty"`
	Base64  []byte  `json:"base64,omitempty"`
}

// verifiedJSON is what "pleat verify --json" prints.
type verifiedJSON struct {
	Format string `json:"format"`
	*verifiedCounts
}

type verifiedCounts struct {
	Sessions int          `json:"sessions"`
	Entries  uint64       `json:"entries"`
	Bytes    int64        `json:"bytes"`
	Folds    int          `json:"folds"`
	Damage   []damageJSON `json:"damage"`
}

type damageJSON struct {
	Session string `json:"session,omitempty"`
	Entry   uint64 `json:"entry,omitempty"`
	What    string `json:"what"`
}

// importedJSON is what "pleat import --json" prints.
type importedJSON struct {
	Format  string `json:"format"`
	Session string `json:"session"`
	Entries uint64 `json:"entries"` // in the file
	Added   uint64 `json:"added"`   // to the store
	Stored  uint64 `json:"stored"`  // in the store now
	Mended  int    `json:"mended"`  // bodies that were damaged in the store
	Folds   int    `json:"folds"`   // unfolded as a check
}

// storeJSON says which store an object is about.
type storeJSON struct {
	Format string `json:"format"`
	Store  string `json:"store"`
	Kind   string `json:"kind"`
}

// checkedJSON is what "pleat store check --json" prints.
type checkedJSON struct {
	storeJSON
	Schema int `json:"schema"`
	Newest int `json:"newest_schema"`
	*verifiedCounts
}

// migratedJSON is what "pleat store migrate --json" prints.
type migratedJSON struct {
	storeJSON
	Before int `json:"before"` // 0: there was none
	After  int `json:"after"`
}

// statsJSON is what "pleat store stats --json" prints.
type statsJSON struct {
	storeJSON
	Bytes   int64        `json:"bytes"` // of the file or database
	Tenants []tenantJSON `json:"tenants"`
	Tables  []tableJSON  `json:"tables"` // largest first
}

type tenantJSON struct {
	Tenant    string `json:"tenant"`
	Sessions  int    `json:"sessions"`
	Entries   uint64 `json:"entries"`
	BodyBytes int64  `json:"raw"`    // of all that was said
	Bodies    int64  `json:"bodies"` // different ones
	Stored    int64  `json:"stored"` // bytes that they take
}

type tableJSON struct {
	Name    string `json:"table"`
	Rows    int64  `json:"rows"`
	Data    int64  `json:"data"`
	Indexes int64  `json:"indexes"`
}

// copiedJSON is what "pleat store copy --json" prints.
type copiedJSON struct {
	Format   string        `json:"format"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	Sessions int           `json:"sessions"` // of SRC that were chosen
	Copied   int           `json:"copied"`   // of which something was brought over
	Same     int           `json:"same"`     // were there already
	Ahead    int           `json:"ahead"`    // are there and have gone on in DST
	Entries  uint64        `json:"entries"`  // brought over
	Bytes    int64         `json:"bytes"`    // of their bodies
	Compared uint64        `json:"compared"` // entries read again from DST
	Mute     int           `json:"mute"`     // messages that search will not find: their text cannot be read
	Problems []problemJSON `json:"problems"` // sessions that are not in DST as they are in SRC
}

type problemJSON struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session"`
	What    string `json:"what"`
}

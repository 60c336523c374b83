package pleat

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// The names that nearly every caller needs, so that a first program imports this package
// and a store. Their documentation is where they are declared.
type (
	Message    = transcript.Message
	Block      = transcript.Block
	ToolCall   = transcript.ToolCall
	ToolResult = transcript.ToolResult
	View       = transcript.View

	Model    = model.Model
	Tool     = model.Tool
	Usage    = model.Usage
	APIError = model.APIError

	Policy   = fold.Policy
	Budget   = fold.Budget
	Plan     = fold.Plan
	Fold     = fold.Fold
	Snapshot = fold.Snapshot

	Store = store.Store
	Key   = store.SessionKey

	UnfoldRequest = recall.UnfoldRequest
	SearchRequest = recall.SearchRequest
	LedgerFilter  = ledger.Filter
)

// What can go wrong; see where they are declared for what each means.
var (
	ErrNotFound  = store.ErrNotFound
	ErrConflict  = store.ErrConflict
	ErrCannotFit = fold.ErrCannotFit
)

// DefaultMemory is how many bytes of messages a session keeps in memory.
const DefaultMemory = conv.DefaultMemory

// User makes a message that a person typed.
func User(text string) Message { return transcript.User(text) }

// Assistant makes an answer of the model.
func Assistant(blocks ...Block) Message { return transcript.Assistant(blocks...) }

// Say makes a block of text.
func Say(text string) Block { return transcript.Say(text) }

// Call makes a tool call; its input is a JSON object.
func Call(id, tool, input string) ToolCall { return transcript.Call(id, tool, input) }

// Results makes the message that answers tool calls.
func Results(results ...ToolResult) Message { return transcript.Results(results...) }

// Result makes the result of a tool call.
func Result(callID, text string) ToolResult { return transcript.Result(callID, text) }

// RecallTools returns the definitions of the tools with which a model gets back what was
// folded. Add them to the request's tools and to [Options].Tools, and answer their calls with
// [Session.Answer]. A program with tools of these names puts a prefix before each Name.
func RecallTools() []Tool { return recall.Tools() }

// SnipTool returns the definition of one more tool that [Session.Answer] answers, for sessions
// whose policy snips, as four-layer does.
func SnipTool() Tool { return recall.SnipTool() }

// UnfoldCall is how a stub tells a model that has the recall tools to get content back.
func UnfoldCall(handle string) string { return fold.UnfoldCall(handle) }

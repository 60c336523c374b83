package pleat

import (
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/ledger"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Types that a first program needs from other packages, so that it imports only this one and a store.
// Each is documented where it is declared.
type (
	Message    = transcript.Message    // one message of the conversation
	Block      = transcript.Block      // a part of a message: text, a tool call, a result …
	ToolCall   = transcript.ToolCall   // the model asks for a tool to be run
	ToolResult = transcript.ToolResult // what the tool answered

	Model    = model.Model    // what is known of a model: its window, its prices
	Tool     = model.Tool     // a tool's definition
	Usage    = model.Usage    // the tokens that a provider reports for a request
	APIError = model.APIError // an error that a provider answered with

	Budget = fold.Budget      // how much of the window a session may fill
	Key    = store.SessionKey // the name of a session

	UnfoldRequest = recall.UnfoldRequest // what [Session.Unfold] gives back
	SearchRequest = recall.SearchRequest // what [Session.Search] looks for
	LedgerFilter  = ledger.Filter        // which calls [Session.Ledger] returns
)

// What can go wrong.
var (
	ErrNotFound  = store.ErrNotFound // there is no such session, message or handle
	ErrConflict  = store.ErrConflict // another process wrote to the session meanwhile
	ErrCannotFit = fold.ErrCannotFit // nothing that may be sent fits the window
)

// User makes a message that a person typed.
func User(text string) Message { return transcript.User(text) }

// Assistant makes an answer of the model.
func Assistant(blocks ...Block) Message { return transcript.Assistant(blocks...) }

// Say makes a text block.
func Say(text string) Block { return transcript.Say(text) }

// Call makes a tool call; its input is a JSON object.
func Call(id, tool, input string) ToolCall { return transcript.Call(id, tool, input) }

// Results makes the message that answers tool calls.
func Results(results ...ToolResult) Message { return transcript.Results(results...) }

// Result makes the result of a tool call.
func Result(callID, text string) ToolResult { return transcript.Result(callID, text) }

// RecallTools returns the definitions of the tools with which a model gets back what was
// folded. Add them to the request's tools and to [Options].Tools, and answer their calls with
// [Session.Answer]. A program that has tools of the same names puts a prefix before each Name; stubs,
// pages and Answer then use the new names. Keep the descriptions: they identify the tools.
func RecallTools() []Tool { return recall.Tools() }

// UnfoldCall returns the call by which stubs tell a model to get content back.
func UnfoldCall(handle string) string { return fold.UnfoldCall(handle) }

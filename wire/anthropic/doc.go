// Package anthropic reads and writes the Anthropic Messages format without losing a
// byte of it.
//
// # Requests
//
// [Decode] walks a request body once and returns its messages, together with the place of
// every block in the bytes. [Request.Splice] puts a [transcript.View] of those messages back
// into the body and copies everything that the view does not change: key order, spacing,
// number forms, escapes, unknown members. Programs that have no original bytes use [Encode].
//
//	r, err := anthropic.Decode(body)
//	…
//	view := transcript.Whole(len(r.Messages))
//	view.Messages[2].Edits = []transcript.BlockEdit{{Block: 0, Text: stub}}
//	out, err := r.Splice(view)
//
// The blocks are: text, thinking and redacted_thinking, tool_use, tool_result and
// image. Everything else (documents, the provider's own tools, compaction blocks, blocks of
// the future) is [transcript.Opaque] and is only kept or removed whole. Content that is a
// plain string is one text block.
//
// [MessageHash] identifies a message from one request to the next. What clients change in
// between, such as the places of their cache markers, does not count.
//
// # Legality
//
// [Request.Check] says what the provider would refuse, in the provider's words where they
// are known. It has the rules that folding could break; those about parameters, schemas
// and sizes are left to the provider. Neighbouring messages of one role count as one
// turn, as they do for the provider. The rules:
//
//	messages-empty                 no message
//	message-empty                  a message without content
//	text-empty                     an empty text block
//	text-whitespace                a text of white space alone
//	first-role                     the first message is the assistant's
//	system-role-refused            a system message among the others, which the model refuses
//	system-role-place              a system message where none may be
//	prefill-refused                the last message is the assistant's, which the model refuses
//	prefill-whitespace             the last message is the assistant's and ends in white space
//
//	tool-result-missing            a call without its result in the next turn
//	tool-result-unexpected         a result without its call in the turn before
//	tool-result-duplicate          two results for one call
//	tool-results-first             something comes before the results
//	tool-use-id-duplicate          two calls with one id
//	tool-use-input                 an input that is no object
//	server-tool-result-unexpected  a server tool's result without its call
//	server-tool-open               a server tool's call that a user message cut off
//
//	cache-markers                  more than four cache markers
//	cache-ttl-order                a longer lifetime after a shorter one
//	cache-empty-text               a marker on an empty text
//	cache-thinking                 a marker on thinking
//
//	thinking-first                 an open tool round that does not begin with its thinking
//
//	compaction-misplaced           a signed compaction block that is not the first block
//	compaction-duplicate           two signed compaction blocks
//
//	tool-name-duplicate            two tools with one name
//
// # Answers
//
// [DecodeReply] reads a complete answer. [NewRecorder] makes what assembles one from an event stream
// whose bytes pass by it. Both return the message as an element to send back.
//
// # Asking a model
//
// A [Client] does all of this for programs that want an answer: it is a [model.Generator],
// with retries, limits and typed errors. [Messages] is what a session needs of this wire.
package anthropic

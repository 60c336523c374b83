// Package proxy keeps other people's agents inside their model's context window.
//
// A [Handler] is a proxy between an agent and its provider; a [Transport] does the same
// inside a Go program. Both read each request of a conversation, find the session that
// it continues, and send the provider the session's view. While nothing is folded, that is
// byte for byte what the client wrote, apart from the recall tools that follow the
// client's own; after that it is the same with stubs and a page spliced in. Folds are
// stored before a view that shows them goes out, so that a restarted proxy, or another one
// on the same store, sends the same bytes.
//
// The wires are Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini's
// generateContent. Requests to other paths pass through unchanged,
// to the provider that their key belongs to.
package proxy

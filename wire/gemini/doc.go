// Package gemini reads and writes the format of Gemini's generateContent and
// streamGenerateContent without losing a byte of it.
//
// # Which function
//
//   - A request came from a client and goes on to its provider, perhaps with parts of its
//     history folded: [Decode], then [Request.Splice].
//   - There is no original, because the program speaks for itself: [Encode].
//   - An answer comes back: [DecodeReply] for a whole one, [NewRecorder] beside a stream that is
//     passed on.
//   - The program wants an answer and nothing else: [Client], a [model.Generator].
//   - Is it legal: [Request.Check].
//   - A session needs the wire's codec and check: [GenerateContent].
//
// # Blocks
//
// Each element of contents is a message and each of its parts a block: text, a thought
// (thinking), functionCall, functionResponse, and inlineData or fileData that is an image.
// Everything else is [transcript.Opaque] and is only kept or removed whole. Members are read
// under both names that the provider takes, functionCall and function_call, and are written
// back under the one they came with.
//
// A call is known by its id or, as older models send none, by its function's name: the
// responses of an answer then belong to its calls by name and order. Clients change ids;
// what is known of that is undone. A response's text is
// its only member if that is a string, such as output, else its JSON.
//
// A thoughtSignature stays beside its part, except beside a text that is replaced: it goes with
// the words that it was for. A call that has one cannot be replaced. An empty text with a
// signature, as streams end with, is thinking.
//
// # Rules
//
// [Request.Check] knows contents-empty; parts-empty and text-empty for each content;
// call-place, response-place, response-count and response-unknown for calls and responses:
// calls follow something of the user's, and the content right behind them has a response to
// each; last-role; and, for the models that want it, signature-missing: in the current turn
// the first call of each answer has a signature.
package gemini

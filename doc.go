// Package pleat keeps an LLM agent's conversation inside its model's context window and
// never loses a byte of what it folds away.
//
// # Which function do I want
//
//   - A conversation that lasts: [OpenSession], then [Session.Append] for everything that
//     is said and [Session.View] before every request. The view is what to send.
//   - What the model was shown less of: [Session.Unfold] gives any of it back exactly,
//     [Session.Search] finds it, [Session.Ledger] lists every tool call. As tools for the
//     model itself: [RecallTools] and [Session.Recall].
//   - To see what would happen: [Session.Plan] prints it and changes nothing;
//     [Session.Report] says what was done; [Session.Snapshot] is the meter.
//   - When the provider says that the prompt is too long: [ClassifyError], then
//     [Session.Refused].
//   - Bytes of a request: packages anthropic and openai decode them, splice a view into
//     them, write them from scratch and check them.
//   - Tokens, prices, windows: [NewTokenizer], [DefaultModels].
//
// # The model
//
// A [Transcript] is everything that was said, in [Message] values made of blocks; nothing
// ever edits it. A [Fold] is a recorded decision to show something shorter in place of a
// block or a stretch of messages. A [View] is a pure function of the two. Levers propose
// folds, cheap ones first; a [Policy] says which and when; a [Plan] is what they came to,
// as data. [Session] is the one owner of effects: it stores a plan before any view shows
// it.
//
// Folds change only when an epoch opens. In between, each view is a prefix of the next, so
// that the provider's prompt cache holds.
//
// What must survive is kept by code: the user's words and standing rules ([UserWords]),
// every tool call with its outcome ([Ledger]), pins. The page that stands for folded turns
// is written anew from the whole transcript each time, so the tenth compaction loses no
// more than the first.
//
// # Seams
//
// [Store] keeps sessions; [MemStore] is here, package sqlite has the embedded one, and
// package pleattest has the suite that every store passes. [TokenCounter] counts.
// Observers and hooks are functions in [Options].
//
// The package reads no environment and prints nothing. Goroutines that it starts to use
// several processors end with the call that started them; only the digests of
// [DigestOptions] are written in the background, until [Session.Close]. Types are safe for
// concurrent use only where they say so.
package pleat

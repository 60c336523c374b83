// Package pleat keeps an LLM agent's conversation inside its model's context window and
// never loses a byte of what it folds away.
//
// # Which function do I want
//
//   - A conversation that lasts: [OpenSession], then [Session.Append] for everything that
//     is said and [Session.Messages] before every request. A framework that hands over the
//     whole history each time calls [Session.Sync] instead of Append.
//   - Recall: [RecallTools] are tools that let the model get back what was folded, and
//     [Session.Answer] answers their calls. Programs use [Session.Unfold],
//     [Session.Search] and [Session.Ledger].
//   - To see what would happen: [Session.Plan] changes nothing. [Session.Report] says what
//     was done; [Session.Snapshot] is the meter.
//   - When the provider says that the prompt is too long: [Session.Refused]. When a process
//     died while tools ran: [Session.Repair].
//   - Bytes of a request: [Session.View], and packages wire/anthropic, wire/openai and wire/gemini,
//     which decode requests, splice a view into them, write them and check them.
//   - Tokens, prices, windows: packages tokens and model.
//
// # How it works
//
// A transcript is everything that was said; no fold ever edits it. A fold is a recorded
// decision to show something shorter in place of a block or a stretch of messages. A view
// is a pure function of the two. Levers propose folds, and a policy says which levers are
// pulled on which occasion (packages fold, fold/lever and policy). [Session] is the one
// owner of effects: it stores a plan before any view shows it.
//
// Apart from large results, which are spilled as they arrive, folds change only when an epoch
// opens. In between, each view is a prefix of the next, so that the provider's prompt cache
// stays valid.
//
// What must survive is kept by code: what the user typed (package userwords), every
// tool call with its outcome (package ledger), and pins. The page that replaces
// folded turns is written anew from the whole transcript each time, so
// the tenth compaction loses no more than the first.
//
// Plans, folds and reports count in pleat's own tokens (int). [Session.Snapshot] and the sizes in an
// [Event] are what the provider would report (tokens.Reported).
//
// # Seams
//
// A store keeps sessions: package store has the interface and one in memory, store/sqlite and
// store/postgres are modules of their own, and store/storetest has the suite that every
// store passes. A wire gives a session its codec and its check. Observers and hooks are
// functions in [Options]; Options.Pages replaces the writer of pages.
//
// The package reads no environment and prints nothing. Goroutines that it starts to use
// several processors end with the call that started them. Only digests by a model are
// written in the background, until [Session.Close]. Types are safe for concurrent use only
// where they say so.
package pleat

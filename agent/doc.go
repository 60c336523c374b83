// Package agent is a loop that does not run out of context: it asks a model, runs the
// tools that the model calls, records what they answer, and goes on until the model is
// done, in a window as small as you like.
//
//	a, err := agent.New(ctx, agent.Options{
//		Store: store, Key: pleat.SessionKey{Session: "fix-the-build"},
//		Generator: client, Request: pleat.Request{Model: "…", System: "…"},
//		Tools: tools, Permit: rules.Permit(ask),
//	})
//	res, err := a.Run(ctx, "The build is red. Find out why and mend it.")
//
// # What it keeps
//
//   - The conversation is a [pleat.Session]: before every request the session decides what
//     the model is shown, and whatever is folded comes back by the recall tools, which the
//     model has from the first request on.
//   - What was said is durable before anything follows from it. An answer with tool calls
//     is stored before the first of them starts; results are stored, all of a round
//     together, before the next request. A program that was killed goes on with
//     [Agent.Resume]: calls that had no result are reported to the model as interrupted
//     and are never run a second time by the loop.
//   - Cancelling the context at any moment leaves a transcript in which every call has its
//     answer.
//
// # What it asks
//
// Tools say what they do to the world ([Effect]). Those that only look run at once; for
// the others [Options.Permit] is asked, and without it they are refused. [Rules] are
// allow and deny rules as data. Files are confined to a [Workspace]. Secrets of known
// shapes are taken out of tool output before it is recorded, see [RedactSecrets].
//
// # What it tells
//
// [Options.Observe] gets an [Event] for everything that happens, the session's own events
// among them: the meter before and after each decision, text as it streams in, calls and
// results, folds, money.
//
// # Without a model
//
// Package rehearsal is a model without a network that really calls the tools: a first run
// for people without a key, and a test of everything but a model's judgement.
package agent

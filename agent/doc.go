// Package agent is a loop that does not run out of context: it asks a model, runs the
// tools that the model calls, records what they answer, and continues until the model is
// done, in any window that holds the system prompt, the tools and the newest user message.
//
//	a, err := agent.New(ctx, &agent.Options{
//		Store: st, Key: store.SessionKey{Session: "fix-the-build"},
//		Generator: client, Request: model.Request{Model: "…", System: "…"},
//		Tools: agent.StandardTools(workspace, nil), Permit: rules.Permit(ask),
//	})
//	res, err := a.Run(ctx, "The build is red. Find out why and fix it.")
//
// # What it keeps
//
//   - The conversation is a [pleat.Session]. Before every request the session decides what
//     the model is shown. The model gets back whatever is folded with the recall tools,
//     which it has from the first request on.
//   - What was said is stored before anything follows from it. An answer with tool calls
//     is stored before the first of them starts; the results of a round are stored
//     together, before the next request. A program that was killed continues with
//     [Agent.Resume]: calls without a result are reported to the model as interrupted,
//     and the loop never runs a call twice.
//   - Cancelling the context at any moment leaves a transcript in which every call has its
//     result.
//
// # Tools of your own
//
// A tool is a value: a definition for the model, its [Effect] and a function. Make one
// with [NewTool] and put it into [Options.Tools], alone or appended to [StandardTools];
// the example of NewTool is a complete one. To make a tool part of StandardTools, copy one
// of the tool_*.go files and add a line to the list in tool.go.
//
// # Permission
//
// Tools that only look run at once. For the others, [Options.Permit] is asked, and without
// it they are refused. [Rules] allow calls without asking. File tools are confined
// to a [Workspace]. Secrets of known shapes are taken out of tool output before it is
// recorded, see [RedactSecrets].
//
// # Events
//
// [Options.Observe] gets an [Event] for everything that happens, the session's own events
// among them: the meter before and after each decision, text as it streams in, calls and
// results, folds, money.
package agent

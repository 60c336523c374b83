// Package adopt has whole programs that put pleat into other people's code: over Anthropic's and OpenAI's SDKs, an
// eino agent, a langchaingo program, a server, and a store in a bbolt file. It is a module of its own so that nobody
// who uses pleat carries them. docs/library.md explains them. The SDKs over pleat's HTTP transport are in
// proxy/sdktest.
//
// The sonic that eino v0.7.36 requires does not compile with Go 1.26; this module requires v1.15.5:
//
//	go get github.com/bytedance/sonic@v1.15.5
//
// An agent of eino can serve many conversations at once: there the rewriter and the tools take the
// session from the context that Generate was given. Generate returns only the answer; Sync what the
// rewriter returned last and the answer, or the session lacks the end of the run. Once a run is folded,
// its question may be only a line in the page, so nothing of yours should look for it in the last user message.
// Where a tool returns directly, Generate returns its result without the call, which no provider takes:
// Sync an answer of the assistant with that text instead. After a restart open the session by the
// Key that it had last, and call Repair: of a program that was killed while Sync wrote, the
// session may have calls without their results. What came since the last Sync is lost. A program that
// keeps only questions and answers, and hands those to Sync, begins a fork each turn: append the
// question to what Messages returns instead.
//
// A MessageRewriter of eino cannot return an error, and its context is the run's: give Sync
// [context.WithoutCancel] of it, or the history of a run that ends meanwhile is lost. If Sync or
// Messages fails, let it log that and return the history that it was given, which is the view
// before and what came since: the run goes on while that fits, and the next call takes all of it
// in. A program that would rather stop gives the run a context of [context.WithCancelCause] and has
// the rewriter cancel it with the error. The Sync after the run needs such a context, too. In the ADK
// BeforeChatModel has the rewriter's place, and can return an error. What providers refuse, and what
// they counted, only the chat model sees: wrap it, for Refused and Used.
package adopt

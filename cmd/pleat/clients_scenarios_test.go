package main

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// clientScenario is something that happens to a client behind the proxy.
type clientScenario struct {
	name   string
	what   string // for the table
	script upstreamtest.Options
	window int // of the proxy; 0: the model's
	told   int // what the client thinks that the window is; 0: 100,000
	most   int // requests of the client, other than for titles and the like; 0: any number
	fails  int // replies of the server that are errors
	others int // requests on each path that the proxy passes on untouched

	key    string // of the client
	midway bool   // the client is behind the proxy only when it continues

	needs can  // clients without it are not driven
	any   bool // models and wires matter: all rows are driven, not only one of each client
	short bool // it is also driven in short
	// Clients that can do this are driven without the proxy too, and may not have fewer errors there.
	direct can
	front  func(*testing.T, drive) string
}

var clientScenarios = []clientScenario{
	{
		name: "60k", what: "a recall beside a call of the client's tool", any: true, short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Beside: true}, window: 60_000, most: 11,
	},
	{
		name: "200k", what: "20 calls, window 200,000; a recall alone",
		script: upstreamtest.Options{Calls: 20, Bytes: 24_000, RecallAt: 18}, window: 200_000, told: 200_000, most: 21,
	},
	{
		name: "parallel", what: "8 calls, 3 at a time, with thinking", short: true,
		script: upstreamtest.Options{Calls: 8, Parallel: 3, Bytes: 3000, Thinking: true}, most: 4,
	},
	{
		name: "overflow", what: "the server refuses prompts above 60,000 tokens", short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, Limit: 60_000}, most: 11, fails: 3,
	},
	{
		name: "refused-once", what: "8 calls; the server refuses one request as too long", short: true,
		script: upstreamtest.Options{Calls: 8, Bytes: 24_000, FailAt: 4, Fail: "400"}, most: 9, fails: 1,
	},
	{
		name: "recall-429", what: "a recall; the request with it first gets 429", any: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "429"},
		window: 60_000, most: 11, fails: 1,
	},
	{
		name: "recall-500", what: "the same with 500", any: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "500"},
		window: 60_000, most: 11, fails: 1,
	},
	{
		name: "recall-529", what: "the same with 529",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "529"},
		window: 60_000, most: 11, fails: 1,
	},
	{
		name: "recall-silent", what: "the same with silence, then a closed connection",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "silent"},
		window: 60_000, most: 11, fails: 1,
	},
	{
		name: "recall-cut", what: "the same with a connection that breaks in the answer",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "cut"},
		window: 60_000, most: 11, fails: 1, needs: canRetry,
	},
	{
		name: "compacts", what: "14 calls, window 200,000; the client takes it for 100,000 and compacts; a search finds what it lost; some also without the proxy",
		any: true, direct: canThink,
		script: upstreamtest.Options{Calls: 14, Bytes: 24_000, RecallAt: 12}, window: 200_000,
		needs: canCompact,
	},
	{
		name: "clears", what: "20 calls; the client clears old results, unseen by the server; a recall",
		script: upstreamtest.Options{Calls: 20, Bytes: 24_000, RecallAt: 18}, window: 60_000, told: 1_000_000, most: 21,
		needs: canClear, front: clearsFront,
	},
	{
		name: "open-turn", what: "14 calls of 9 KB, window 30,000; five recalls in a turn; the client's newest words stay",
		script: upstreamtest.Options{Calls: 14, Bytes: 9000, RecallAt: 12, Recalls: 5}, window: 30_000, most: 15,
	},
	{
		name: "nine-recalls", what: "nine recalls in a turn, one too many; the client's newest words stay",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Recalls: 9}, window: 60_000, most: 11,
	},
	{
		name: "endless-recalls", what: "recalls without end; the client is told, and continues if it can",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Endless: true}, window: 60_000, most: 21,
		direct: canTwice,
	},
	{
		name: "interrupted", what: "3 calls at a time; the user interrupts the 5th, and continues; a recall",
		script: upstreamtest.Options{Calls: 10, Parallel: 3, Bytes: 24_000, HoldAt: 5, RecallAt: 7}, window: 60_000,
		most: 7, needs: canContinue | canStop,
	},
	{
		name: "recall-beside-3", what: "12 calls of 12 KB, 3 at a time; a recall beside three",
		script: upstreamtest.Options{Calls: 12, Parallel: 3, Bytes: 12_000, RecallAt: 6, Beside: true}, window: 60_000,
		most: 5,
	},
	{
		name: "midway", what: "the proxy comes after the 5th call: no recall tools, no stub that names them",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, PauseAt: 5}, window: 60_000, most: 12,
		midway: true, needs: canContinue, direct: canTwice,
	},
	{
		name: "paas", what: "the upstream's address ends in /api/paas/v4", any: true,
		script: upstreamtest.Options{Calls: 3}, most: 4, needs: canOpenAI, front: versionFront,
	},
	{
		name: "foreign-key", what: "an Anthropic key on OpenAI's paths reaches only Anthropic", any: true, short: true,
		script: upstreamtest.Options{Calls: 3}, most: 4, needs: canOpenAI, front: keyFront,
		key: "sk-ant-api03-none",
	},
	{
		name: "br", what: "replies compressed with Brotli", any: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, Packed: true}, window: 60_000, most: 11,
		needs: canUnpack,
	},
	{
		name: "other-paths",
		what: "1,000 batches, or embeddings and files, whose upstream answers before it reads them",
		any:  true, short: true, script: upstreamtest.Options{Calls: 3}, others: 1000, most: 4,
		needs: canOthers,
	},
	{
		name: "sub-agent", what: "8 calls; a sub-agent runs two more",
		script: upstreamtest.Options{Calls: 8, Bytes: 24_000, AgentAt: 3}, window: 60_000, needs: canAgent,
	},
	{
		name: "continue", what: "the client ends after the 5th, and starts with --continue; a recall",
		script: upstreamtest.Options{
			Calls: 10, Bytes: 24_000, PauseAt: 5,
			RecallAt: 7,
		}, window: 60_000, most: 12, needs: canContinue, direct: canTwice,
	},
	{
		name: "killed", what: "kill -9 of the proxy during a request and after an answer; a recall", short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 9}, window: 60_000, most: 12,
		front: killedFront,
	},
	{
		name: "two-proxies", what: "two proxies with one store take turns; a recall",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7}, window: 60_000, most: 11, front: turnFront,
	},
}

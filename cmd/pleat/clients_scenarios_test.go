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

	needs upstreamtest.Can // clients without it are not driven
	any   bool             // models and wires matter: all rows are driven, not only one of each client
	short bool             // it is also driven in short
	// Clients that can do this are driven without the proxy too, and may not have fewer errors there.
	direct upstreamtest.Can
	front  func(*testing.T, drive) string
}

var clientScenarios = []clientScenario{
	{
		name: "60k", what: "the model recalls a result, beside a call of the client's " +
			"tool", any: true, short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Beside: true}, window: 60_000, most: 11,
	},
	{
		name: "200k", what: "20 calls of 24 KB, window 200,000; the model recalls a result, alone",
		script: upstreamtest.Options{Calls: 20, Bytes: 24_000, RecallAt: 18}, window: 200_000, told: 200_000, most: 21,
	},
	{
		name: "parallel", what: "8 calls, 3 at a time, with thinking", short: true,
		script: upstreamtest.Options{Calls: 8, Parallel: 3, Bytes: 3000, Thinking: true}, most: 4,
	},
	{
		name: "overflow", what: "10 calls of 24 KB; the server refuses prompts above 60,000 tokens", short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, Limit: 60_000}, most: 11, fails: 3,
	},
	{
		name: "refused-once", what: "8 calls of 24 KB; the server refuses one request as too long", short: true,
		script: upstreamtest.Options{Calls: 8, Bytes: 24_000, FailAt: 4, Fail: "400"}, most: 9, fails: 1,
	},
	{
		name: "recall-429", what: "the model recalls a result, and the server answers the " +
			"request with it with 429 at first", any: true,
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
		name: "recall-silent", what: "the same, but the server is silent and then closes the connection",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "silent"},
		window: 60_000, most: 11, fails: 1,
	},
	{
		name: "recall-cut", what: "the same, but the connection breaks in the middle of the answer",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, FailsRecall: true, Fail: "cut"},
		window: 60_000, most: 11, fails: 1, needs: upstreamtest.Retry,
	},
	{
		name: "compacts", what: "14 calls of 24 KB, window 200,000; the client takes it for 100,000 and compacts by " +
			"itself; then the model searches for a result that is lost to it; those that keep thinking also without the proxy",
		any: true, direct: upstreamtest.Think,
		script: upstreamtest.Options{Calls: 14, Bytes: 24_000, RecallAt: 12}, window: 200_000,
		needs: upstreamtest.Compact,
	},
	{
		name: "clears", what: "20 calls of 24 KB, window 60,000; the client writes over old results by itself, which the " +
			"server does not see; then the model recalls a result",
		script: upstreamtest.Options{Calls: 20, Bytes: 24_000, RecallAt: 18}, window: 60_000, told: 1_000_000, most: 21,
		needs: upstreamtest.Clear, front: clearsFront,
	},
	{
		name: "open-turn", what: "14 calls of 9 KB, window 30,000; the model recalls five results in a turn; " +
			"what the client sent last stays",
		script: upstreamtest.Options{Calls: 14, Bytes: 9000, RecallAt: 12, Recalls: 5}, window: 30_000, most: 15,
	},
	{
		name: "nine-recalls", what: "the model recalls nine results in a turn, one more than it may; " +
			"what the client sent last stays",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Recalls: 9}, window: 60_000, most: 11,
	},
	{
		name: "endless-recalls", what: "the model recalls without end; the client is told, and where it can, continues",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7, Endless: true}, window: 60_000, most: 21,
		direct: upstreamtest.Twice,
	},
	{
		name: "interrupted", what: "10 calls of 24 KB, 3 at a time; the user interrupts the client while it waits for the 5th, " +
			"and continues; then the model recalls a result",
		script: upstreamtest.Options{Calls: 10, Parallel: 3, Bytes: 24_000, HoldAt: 5, RecallAt: 7}, window: 60_000,
		most: 7, needs: upstreamtest.Continue | upstreamtest.Stop,
	},
	{
		name: "recall-beside-3", what: "12 calls of 12 KB, 3 at a time; the model recalls beside three",
		script: upstreamtest.Options{Calls: 12, Parallel: 3, Bytes: 12_000, RecallAt: 6, Beside: true}, window: 60_000,
		most: 5,
	},
	{
		name: "midway", what: "the client is behind the proxy only when it continues after the 5th: no recall " +
			"tools, and no stub says otherwise",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, PauseAt: 5}, window: 60_000, most: 12,
		midway: true, needs: upstreamtest.Continue, direct: upstreamtest.Twice,
	},
	{
		name: "paas", what: "the upstream's address ends in /api/paas/v4", any: true,
		script: upstreamtest.Options{Calls: 3}, most: 4, needs: upstreamtest.OpenAI, front: versionFront,
	},
	{
		name: "foreign-key", what: "an Anthropic key on OpenAI's paths reaches only Anthropic", any: true, short: true,
		script: upstreamtest.Options{Calls: 3}, most: 4, needs: upstreamtest.OpenAI, front: keyFront,
		key: "sk-ant-api03-none",
	},
	{
		name: "br", what: "replies are compressed with Brotli", any: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, Packed: true}, window: 60_000, most: 11,
		needs: upstreamtest.Unpack,
	},
	{
		name: "other-paths",
		what: "1,000 batches, or embeddings and files, whose upstream answers before it reads them",
		any:  true, short: true, script: upstreamtest.Options{Calls: 3}, others: 1000, most: 4,
		needs: upstreamtest.Others,
	},
	{
		name: "sub-agent", what: "8 calls of 24 KB, window 60,000; a sub-agent runs two more",
		script: upstreamtest.Options{Calls: 8, Bytes: 24_000, AgentAt: 3}, window: 60_000, needs: upstreamtest.Agent,
	},
	{
		name: "continue", what: "after the 5th the client ends, and is started with " +
			"--continue; then the model recalls a result",
		script: upstreamtest.Options{
			Calls: 10, Bytes: 24_000, PauseAt: 5,
			RecallAt: 7,
		}, window: 60_000, most: 12, needs: upstreamtest.Continue, direct: upstreamtest.Twice,
	},
	{
		name: "killed", what: "the proxy gets kill -9 during a request and after an " +
			"answer, and is started anew; then the model recalls a result", short: true,
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 9}, window: 60_000, most: 12,
		front: killedFront,
	},
	{
		name: "two-proxies", what: "two proxies on one store answer in turn; the model " +
			"recalls a result",
		script: upstreamtest.Options{Calls: 10, Bytes: 24_000, RecallAt: 7}, window: 60_000, most: 11, front: turnFront,
	},
}

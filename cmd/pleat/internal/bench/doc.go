// Package bench is the bench: it puts methods of compaction side by side, on the same
// sessions, with the same tokenizer, at the same budget, and scores them by code.
//
// An [Arm] is a method. It is fed a [Session] message by message and says what the model
// would be sent. A probe is a question with an answer that can be found in the session's
// structure: a name that the agent used after the cut and had seen only before it, a file
// that was changed, the newest outcome of a command, a sentence that a person typed.
// [Run] cuts every session, has each arm compact what is before the cut, and looks the
// probes up in what is left: in context, one recall away, or lost. It also replays whole
// sessions against a prefix cache and says what they would have cost.
//
// What the probes look for comes from the sessions and from package synth, never from what
// an arm wrote. No model is asked unless the caller gives one. Without a model, the same
// input gives the same [Report] byte for byte.
package bench

// Package pleattest helps to test what is built with pleat: [Plan] pulls levers on a slice of
// messages and [Folds] lists what they folded, [Script] is a model that follows a script,
// [Transcripts] makes random conversations, and [Open], [Append], [View] and the like drive a
// session in a test.
package pleattest

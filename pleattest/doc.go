// Package pleattest helps to test what is built with pleat: [Script] is a model that
// follows a script, [Transcripts] makes random conversations.
package pleattest

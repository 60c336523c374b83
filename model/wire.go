package model

import "github.com/pleat-dev/pleat/transcript"

// Wire is what a session has to know of the wire that its messages come from and go to:
// the model at the other end, how stored messages are read back, and which views the wire
// would refuse. The wire packages make one for each of their formats: anthropic.Messages,
// openai.Chat, openai.Responses and gemini.GenerateContent.
type Wire struct {
	Model  Model
	Format transcript.Format // of the messages that Codec reads
	Codec  transcript.Codec
	// Check returns an error that wraps [transcript.ErrIllegal] if the wire would refuse
	// the view for a reason that the whole transcript does not already give.
	Check func(v transcript.View, t *transcript.Transcript) error
}

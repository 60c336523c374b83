package transcript

// Note is something the agent wrote down for itself, outside of the transcript.
type Note struct {
	Key  string `json:"key"`
	Text string `json:"text"` // empty: the note was removed
}

package fold

// epochData is a complete answer to "which folds are in force": later epochs do not
// depend on earlier ones, so undoing is writing an old answer again.
type EpochData struct {
	Epoch        int       `json:"epoch"`
	Messages     int       `json:"messages"` // length of the transcript when it was made
	Trigger      Trigger   `json:"trigger"`
	Undo         bool      `json:"undo,omitempty"`
	Focus        string    `json:"focus,omitempty"`
	Folds        []*Fold   `json:"folds,omitempty"` // new ones
	InForce      []int     `json:"in_force"`        // numbers of all folds in force from now on
	Bare         int       `json:"bare,omitempty"`
	DropThinking bool      `json:"drop_thinking,omitempty"`
	Before       int       `json:"tokens_before"`
	After        int       `json:"tokens_after"`
	Cache        CacheCost `json:"cache"`
	Warning      string    `json:"warning,omitempty"`
	Kept         []string  `json:"kept,omitempty"` // files kept because they were read again after each epoch
}

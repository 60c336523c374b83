package conv

func (c *Conversation) ToolOf(callID string) string {
	if n := c.Ledger.Waiting(callID); n > 0 {
		return c.Ledger.Entry(n).Tool
	}
	return ""
}

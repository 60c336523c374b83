package transcript

// blockText is the text of a block as unfolding shows it.
func BlockText(b Block) string {
	switch b := b.(type) {
	case Text:
		return b.Text.String()
	case Thinking:
		return b.Text.String()
	case ToolCall:
		return b.Input.String()
	case ToolResult:
		return b.Text()
	}
	return ""
}

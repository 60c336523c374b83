package transcript

// decoded returns the message with its literals decoded.
func (m Message) Decoded() Message {
	if m.raw == "" {
		return m
	}
	m.blocks = m.blocks.read()
	return m
}

func (b Blocks) read() Blocks {
	out := make([]Block, len(b.list))
	for i, blk := range b.list {
		switch t := blk.(type) {
		case Text:
			t.Text = t.Text.read()
			blk = t
		case Thinking:
			t.Text = t.Text.read()
			blk = t
		case ToolCall:
			t.Input = t.Input.read()
			blk = t
		case ToolResult:
			t.Parts = t.Parts.read()
			blk = t
		}
		out[i] = blk
	}
	return Blocks{out}
}

// weight is about how many bytes of memory a message takes.
func (m Message) Weight() int {
	n := 200 + len(m.raw)
	shared := m.raw != "" // then blocks are parts of raw
	return n + m.blocks.weight(shared)
}

func (b Blocks) weight(shared bool) int {
	n := 0
	for _, blk := range b.list {
		n += 200
		var c Content
		raw := ""
		switch t := blk.(type) {
		case Text:
			c, raw = t.Text, t.Raw
		case Thinking:
			c, raw = t.Text, t.Raw+t.Signature
		case ToolCall:
			c, raw = t.Input, t.Raw
		case ToolResult:
			n += t.Parts.weight(shared)
			raw = t.Raw
		case Image:
			c, raw = t.Data, t.Raw
		case Opaque:
			raw = t.Raw
		}
		n += len(c.text)
		if !shared {
			n += len(c.s) + len(raw)
		}
	}
	return n
}

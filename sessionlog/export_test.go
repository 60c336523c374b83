package sessionlog

import "bytes"

// OpenAs opens data as a format that it may not have.
func OpenAs(data []byte, format Format, opts Options) *Log {
	opts.MaxLine, opts.MaxDocument = defaultMaxLine, defaultMaxDocument
	src, _ := newSource(bytes.NewReader(data))
	l := &Log{src: src, opts: opts, format: format, count: 1}
	switch format {
	case ClaudeCode, Codex, CopilotCLI, Pi:
	default:
		l.doc, _ = l.readDocument()
		l.whole, l.docAt = l.doc, 1
		if l.choose() != nil {
			l.doc = value{}
		}
	}
	return l
}

// LineFormats are the formats that stream.
var LineFormats = []Format{ClaudeCode, Codex, CopilotCLI, Pi}

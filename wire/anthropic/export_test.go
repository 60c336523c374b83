package anthropic

import "github.com/pleat-dev/pleat/transcript"

// Body returns the bytes that were decoded.
func (r *Request) Body() []byte { return r.body.Data }

// Hashes returns the hash of each message.
func (r *Request) Hashes() []transcript.Hash {
	var out []transcript.Hash
	for _, e := range r.body.Elements {
		out = append(out, MessageHash(e.Span.Of(r.body.Data)))
	}
	return out
}

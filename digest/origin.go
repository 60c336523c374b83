package digest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/model"
)

// Origin says how a digest came to be, or why there is none.
type Origin struct {
	Start int `json:"start"` // it is of messages Start ≤ i < End, counted from 0
	End   int `json:"end"`
	// By is "model" or, if a model was asked or would have been, and its digest is not used,
	// "code"; "notes" if the agent's own stand in its place.
	By         string `json:"by"`
	Model      string `json:"model,omitempty"`      // the summarizer
	Why        string `json:"why,omitempty"`        // by code: why
	Focus      string `json:"focus,omitempty"`      // what it was asked to favour
	Tries      []Try  `json:"tries,omitempty"`      // in order
	Calls      int    `json:"calls,omitempty"`      // requests to the model
	Forked     bool   `json:"forked,omitempty"`     // asked for with the live request's prefix
	Background bool   `json:"background,omitempty"` // asked for while the agent went on
	// Unread is how many groups of turns, the oldest, a summary stands for without having read them, because all
	// together were too long. What people typed then stands beside it.
	Unread int `json:"unread,omitempty"`
	// Findings are what the gate struck, fixed or added in the text that is used.
	Findings []Finding   `json:"findings,omitempty"`
	Tokens   int         `json:"tokens,omitempty"` // of the text that is used
	Usage    model.Usage `json:"usage"`            // of all calls together
	USD      float64     `json:"usd,omitempty"`    // by the price table; 0: not known
}

// Try is one rung of the ladder: a normal request, one more that says what was wrong, one
// for a shorter digest.
type Try struct {
	Kind  string `json:"kind"`            // "normal", "again", "shorter"
	Wrong string `json:"wrong,omitempty"` // why it was not used; empty: it was
}

// FindingKind says what the gate found.
type FindingKind string

// What the gate finds in a digest. The first five make it unusable. The others are fixed
// in place, but a digest with too many inventions, or with too much struck, is not used
// either.
const (
	FoundEmpty     FindingKind = "empty"     // no text, nothing but analysis, or nothing of the conversation
	FoundTruncated FindingKind = "truncated" // the answer broke off
	FoundTooLong   FindingKind = "too long"  // longer than its room, or than what it replaces; if a little: what was cut
	FoundToolCall  FindingKind = "tool call" // it calls a tool
	FoundRefused   FindingKind = "refused"   // the model refuses to write it, or says little without the tags
	FoundInvented  FindingKind = "invented"  // a name or number that the conversation does not have: struck
	FoundNotSaid   FindingKind = "not said"  // words quoted as the user's that the user did not say: struck
	FoundQuote     FindingKind = "quote"     // a quotation that is cut, or not word for word: it says so, or its quotes go
	FoundForged    FindingKind = "forged"    // lines that look like pleat's own: struck
	FoundCarried   FindingKind = "carried"   // a fact of the earlier digest that was dropped: put back
)

// Finding is one thing that the gate found.
type Finding struct {
	Kind FindingKind `json:"kind"`
	What string      `json:"what"` // the name, number or words
}

// String is the finding for people, and for the summarizer that is asked again.
func (f Finding) String() string {
	if f.What == "" {
		return string(f.Kind)
	}
	return fmt.Sprintf("%s: %s", f.Kind, f.What)
}

// Unwritten says that the model did not write the digest as it was asked to; empty: it did.
func (r *Origin) Unwritten() string {
	who := cmp.Or(r.Model, "the model")
	if r.By != "model" {
		return fmt.Sprintf("%s did not write the digest of messages %d–%d, code did: %s", who, r.Start+1, r.End, r.Why)
	}
	unread, wrote := "", fmt.Sprintf("the digest of messages %d–%d", r.Start+1, r.End)
	if r.Unread > 0 {
		unread = " without the first " + text.Plural(r.Unread, "group") + " of turns, with which it was too long to ask for"
	}
	for _, f := range r.Findings {
		if f.Kind == FoundTruncated {
			return fmt.Sprintf("%s did not finish %s%s: %s", who, wrote, unread, f.What)
		}
	}
	if unread == "" {
		return ""
	}
	return fmt.Sprintf("%s wrote %s%s", who, wrote, unread)
}

// String is the report in one line.
func (r Origin) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digest of messages %d–%d by %s", r.Start+1, r.End, r.By)
	switch {
	case r.Model == "":
	case r.By == "model":
		b.WriteString(" " + r.Model)
	default:
		b.WriteString(" instead of " + r.Model)
	}
	if r.By == "model" {
		fmt.Fprintf(&b, ", %s tokens", text.Thousands(r.Tokens))
	}
	if r.Why != "" {
		fmt.Fprintf(&b, " (%s)", r.Why)
	}
	for i, t := range r.Tries {
		told := i == len(r.Tries)-1 && strings.HasSuffix(r.Why, t.Wrong)
		if t.Wrong != "" && !told {
			fmt.Fprintf(&b, "; %s: %s", t.Kind, t.Wrong)
		}
	}
	if n := len(r.Findings); n > 0 {
		fmt.Fprintf(&b, "; %s", text.Plural(n, "finding"))
	}
	return b.String()
}

package model

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"
)

// ClientOptions are what the clients of the wire packages have in common. The zero value asks
// the provider's own server, which needs a Key.
//
// The request follows the model's row in the table: no temperature where the model refuses
// it, and no longer answer than it can give. The answer is streamed, because that shows that
// the server is alive.
//
// Failures that may pass are tried again after the time that the server asks for, else after
// one second, two, four and so on. An answer that breaks off is tried again only if the sink
// got nothing of it. An error of the provider is a [*APIError] in the chain, even from the
// middle of a stream; a broken connection is [io.ErrUnexpectedEOF], a silent server
// [os.ErrDeadlineExceeded]. Redirects are not followed.
//
// A client is safe for concurrent use; its options must not change meanwhile.
type ClientOptions struct {
	BaseURL string // where the server is; empty: the provider's own
	Key     string `json:"-"` // never logged and in no error; empty: none is sent, as local servers have it

	// Model is the model that is asked if a request names none, and what it accepts. If it is
	// zero or only an ID, the table says what the model accepts.
	Model Model

	Header http.Header     // sent along with every request
	Extra  json.RawMessage // a JSON object whose members every request gets

	HTTP    *http.Client  // nil: http.DefaultClient. A Timeout there bounds whole answers
	Retries int           // tries after the first; 0: 2, negative: none
	Idle    time.Duration // how long the server may be silent; 0: 5 minutes
	Limit   int           // bytes of an answer; 0: 64 MiB
	Logger  *slog.Logger  // logs when a request is tried again; nil: nothing is logged
}

// String names the server without the key.
func (o ClientOptions) String() string {
	return "client of " + cmp.Or(o.BaseURL, "the provider's own server")
}

// GoString is String, so that no way of printing shows the key.
func (o ClientOptions) GoString() string { return o.String() }

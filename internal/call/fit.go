package call

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// Fit returns the request as its model takes it, and what is known about the model. That is
// own if the request names own or no model and own is more than a name, else what the table
// says.
func Fit(req *model.Request, own model.Model) (*model.Request, model.Model, error) {
	r := *req
	if r.Model = cmp.Or(r.Model, own.ID); r.Model == "" {
		return nil, model.Model{}, errors.New("no model is named [hint: set the request's or the client's model]")
	}
	m := own
	if bare := own.Provider == "" && own.Window == 0; bare || r.Model != own.ID {
		m, _ = model.DefaultModels().Lookup(r.Model)
	}
	if m.Refuses.Temperature {
		r.Temperature = nil
	}
	if m.MaxOutput > 0 {
		r.MaxTokens = min(r.MaxTokens, m.MaxOutput)
	}
	return &r, m, nil
}

// WithMembers adds the members of a JSON object to the body, which is one.
func WithMembers(body []byte, extra json.RawMessage) ([]byte, error) {
	text := strings.TrimSpace(string(extra))
	if text == "" {
		return body, nil
	}
	if !json.Valid(extra) || text[0] != '{' {
		return nil, fmt.Errorf("add members to the request: %q is no JSON object", extra)
	}
	inside := strings.TrimSpace(text[1 : len(text)-1])
	if inside == "" {
		return body, nil
	}
	out := append(body[:len(body)-1:len(body)-1], ',')
	return append(append(out, inside...), '}'), nil
}

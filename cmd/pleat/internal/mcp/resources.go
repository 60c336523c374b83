package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/recall"
)

// The URIs of resources: a session as its handoff, and something in it by its handle.
const (
	sessionURI = "pleat://session/"
	handlePart = "/handle/"
)

// private: what sessions say is for nobody else.
const private = "private"

// listed is how many sessions the list of resources has: the newest.
const listed = 50

func (s server) addResources(srv *sdk.Server) {
	srv.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "session", URITemplate: sessionURI + "{session}", MIMEType: "text/plain",
		Description: "a compact view of a session, to go on from",
	}, s.read)
	srv.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "handle", URITemplate: sessionURI + "{session}" + handlePart + "{handle}", MIMEType: "text/plain",
		Description: "what a handle stands for in a session, exactly",
	}, s.read)
	// Sessions come and go, so the list is made when somebody asks.
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*sdk.ListResourcesResult); ok && err == nil {
				list.CacheScope = private
				list.Resources, err = s.resources(ctx)
			}
			return result, err
		}
	})
}

func (s server) resources(ctx context.Context) ([]*sdk.Resource, error) {
	p, err := s.lib.List(ctx, library.Filter{Limit: listed})
	out := []*sdk.Resource{}
	for _, i := range p.Sessions {
		_, title, _ := strings.Cut(about(i), "\n  ")
		uri := sessionURI + url.PathEscape(i.ID)
		out = append(out, &sdk.Resource{URI: uri, Name: i.ID, Title: title, MIMEType: "text/plain"})
	}
	return out, err
}

func (s server) read(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := r.Params.URI
	rest, _ := strings.CutPrefix(uri, sessionURI)
	id, handle, isHandle := strings.Cut(rest, handlePart)
	id, err := url.PathUnescape(id)
	if err == nil {
		handle, err = url.PathUnescape(handle)
	}
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	c := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain"}
	if isHandle {
		var u recall.Unfolded
		if u, err = s.lib.Unfold(ctx, id, recall.UnfoldRequest{Handle: handle}); err == nil {
			c.Text = u.Content()
		}
	} else {
		c.Text, err = s.lib.Handoff(ctx, id, defaultBudget)
	}
	if errors.Is(err, pleat.ErrNotFound) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(c.Text) { // JSON cannot hold it
		c.Blob, c.Text, c.MIMEType = []byte(c.Text), "", "application/octet-stream"
	}
	result := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}
	result.CacheScope = private
	return result, nil
}

func (s server) addPrompts(srv *sdk.Server) {
	srv.AddPrompt(&sdk.Prompt{
		Name: "continue", Title: "Continue an earlier session",
		Description: "Goes on from where a session ended.",
		Arguments: []*sdk.PromptArgument{
			{Name: "session", Description: "ID of a session, or the beginning of it", Required: true},
			{Name: "budget", Description: "most tokens of the handoff; 8000 unless given"},
		},
	}, func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		budget := defaultBudget
		if b := strings.TrimSpace(r.Params.Arguments["budget"]); b != "" {
			var err error
			if budget, err = strconv.Atoi(b); err != nil {
				return nil, fmt.Errorf("budget %q is not a number", b)
			}
		}
		text, err := s.lib.Handoff(ctx, r.Params.Arguments["session"], budget)
		if err != nil {
			return nil, err
		}
		text += library.GoOn
		message := &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: text}}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{message}}, nil
	})
}

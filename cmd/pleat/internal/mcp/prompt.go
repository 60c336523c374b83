package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
)

func (s server) addPrompt(srv *sdk.Server) {
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

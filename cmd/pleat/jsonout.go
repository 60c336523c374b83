package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// writeJSON prints one object for programs. Every object has a member "format" that names
// its shape and version; docs/cli.md specifies them. Members may be added within a
// version; nothing is renamed or removed.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// The shapes and their versions.
const (
	formatShow     = "pleat/show/1"
	formatPlan     = "pleat/plan/1"
	formatCompact  = "pleat/compact/1"
	formatLedger   = "pleat/ledger/1"
	formatSearch   = "pleat/search/1"
	formatDiff     = "pleat/diff/1"
	formatPolicies = "pleat/policies/1"
	formatPrices   = "pleat/prices/1"
	formatSessions = "pleat/sessions/1"
)

// sourceJSON says which session an object is about.
type sourceJSON struct {
	File    string `json:"file"`
	Format  string `json:"format"` // of the file
	Agent   string `json:"agent,omitempty"`
	Version string `json:"version,omitempty"`
	ID      string `json:"id,omitempty"`
	Title   string `json:"title,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Model   string `json:"model,omitempty"`
	Damaged int    `json:"damaged_lines"`
}

func (f *sessionFile) json() sourceJSON {
	i := f.info
	return sourceJSON{
		File: f.name, Format: string(i.Format), Agent: i.Agent, Version: i.Version, ID: i.SessionID,
		Title: i.Title, Dir: i.Dir, Model: i.Model, Damaged: i.Damaged,
	}
}

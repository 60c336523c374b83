package hook

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// State is what is known of the newest run of an agent's hooks.
type State struct {
	Begun   time.Time `json:"begun"`
	Ended   time.Time `json:"ended,omitzero"`
	Client  string    `json:"client,omitempty"`  // the session, as the agent names it
	Session string    `json:"session,omitempty"` // as pleat does
	Page    int       `json:"page,omitempty"`    // bytes of the page that the agent got
	Error   string    `json:"error,omitempty"`
}

func stateFile(folder, agent string) string {
	return filepath.Join(folder, filepath.Base(agent)+".json")
}

// Read reads what was noted in a folder of the hooks of an agent.
func Read(folder, agent string) (s State, err error) {
	if folder == "" {
		return s, fs.ErrNotExist
	}
	data, err := term.ReadRegular(stateFile(folder, agent))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// begin notes that a hook runs, so that one which is killed is known.
func (h *hook) begin() {
	h.state = State{Begun: time.Now().UTC(), Client: h.in.Session}
	h.keepState()
}

func (h *hook) end(err error) {
	if err == nil && h.state.Begun.IsZero() {
		return
	}
	h.state.Ended = time.Now().UTC()
	if err != nil {
		h.state.Error = term.WithoutPassword(err.Error())
	}
	h.keepState()
}

// keepState does what it can: nobody is there to be told.
func (h *hook) keepState() {
	if h.Folder == "" {
		return
	}
	data, err := json.Marshal(h.state)
	if err == nil && os.MkdirAll(h.Folder, 0o700) == nil {
		_ = term.ReplaceFile(context.Background(), stateFile(h.Folder, h.Agent), 0o600, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
}

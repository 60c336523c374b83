package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ChangeOp says what happened to a file.
type ChangeOp string

// The kinds of change.
const (
	Created ChangeOp = "created"
	Edited  ChangeOp = "edited" // also where the log does not say which
	Deleted ChangeOp = "deleted"
)

// change is a change that a line of a log reports, by the call that made it.
type change struct {
	call string
	path string
	op   ChangeOp
}

// logLine is what lines of Claude Code, Codex and OpenHands say of changes.
type logLine struct {
	Message struct {
		Content json.RawMessage
	}
	Result struct {
		Path  string            `json:"filePath"`
		Patch []json.RawMessage `json:"structuredPatch"`
		Type  string
	} `json:"toolUseResult"`
	Payload struct {
		Type    string
		Call    string `json:"call_id"`
		Success bool
		Changes map[string]struct {
			Type string
			To   string `json:"move_path"`
		}
	}
	History []struct {
		ID, Cause   int
		Observation string
		Content     string
		Call        struct {
			ID string `json:"tool_call_id"`
		} `json:"tool_call_metadata"`
		Extras struct {
			Path   string
			Exists *bool `json:"prev_exist"`
		}
	}
}

// changesOf lists the changes of files that the lines of a log report themselves: not what a
// call asked for but what was done.
func changesOf(data []byte) (list []change) {
	for text := range bytes.Lines(data) {
		var l logLine
		_ = json.Unmarshal(text, &l) // of a member that has another shape nothing is taken
		list = append(list, l.changes()...)
		if l.History != nil { // each further line is another session
			break
		}
	}
	return list
}

func (l *logLine) changes() (list []change) {
	if l.Result.Patch != nil {
		op := Edited
		if l.Result.Type == "create" {
			op = Created
		}
		var results []struct {
			Type string
			ID   string `json:"tool_use_id"`
		}
		_ = json.Unmarshal(l.Message.Content, &results)
		for _, r := range results {
			if r.Type == "tool_result" {
				list = append(list, change{r.ID, l.Result.Path, op})
			}
		}
	}
	if p := l.Payload; p.Type == "patch_apply_end" && p.Success {
		for _, path := range slices.Sorted(maps.Keys(p.Changes)) {
			op := Edited
			switch c := p.Changes[path]; {
			case c.Type == "add":
				op = Created
			case c.Type == "delete":
				op = Deleted
			case c.To != "":
				list = append(list, change{p.Call, c.To, Created})
				op = Deleted
			}
			list = append(list, change{p.Call, path, op})
		}
	}
	calls := make(map[int]string) // by the action's id
	for _, e := range l.History {
		if e.Call.ID != "" {
			calls[e.ID] = e.Call.ID
		}
		if e.Observation != "edit" || strings.HasPrefix(e.Content, "ERROR:") {
			continue
		}
		op := Edited
		if e.Extras.Exists != nil && !*e.Extras.Exists {
			op = Created
		}
		list = append(list, change{cmp.Or(e.Call.ID, calls[e.Cause]), e.Extras.Path, op})
	}
	return list
}

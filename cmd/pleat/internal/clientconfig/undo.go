package clientconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Undo plans to take back what was set under undo. If the file is as Set left it, it will be as it
// was before, byte for byte. Else each key that still has the value which was set gets its
// former value, or is removed; the others are Left. If nothing was set, the error is [fs.ErrNotExist].
func Undo(undo string) (*Edit, error) {
	rec, err := readRecord(undo)
	if err != nil {
		return nil, err
	}
	e, err := open(rec.Path, undo)
	if err != nil {
		return nil, err
	}
	if e.Before == nil {
		return e, nil // somebody has deleted the file
	}
	if rec.Whole {
		if e.whole, e.Exact = true, sum(e.Before) == rec.Sum; !e.Exact {
			e.After, e.rec, e.Left = e.Before, rec, []string{"it"}
		}
		return e, nil
	}
	s, err := syntaxOf(rec.Path)
	if err != nil {
		return nil, err
	}
	var left []step
	e.After, left = rec.takeBack(s, e.Before)
	e.Exact, e.steps = sum(e.Before) == rec.Sum, rec.Steps
	for _, st := range left {
		e.Left = append(e.Left, strings.Join(st.Key, "."))
		e.rec = &record{Path: rec.Path, Existed: rec.Existed, Steps: left}
	}
	if keys, err := s.decode(e.After); !rec.Existed && err == nil && len(keys) == 0 {
		e.After = nil
	}
	return e, nil
}

// takeBack returns the text without the change, and the steps that somebody has overwritten.
func (r *record) takeBack(s syntax, text []byte) (_ []byte, left []step) {
	exact := sum(text) == r.Sum
	for i := len(r.Steps) - 1; i >= 0; i-- {
		st := r.Steps[i]
		switch {
		case exact && st.At >= 0 && st.At <= len(text) && bytes.HasPrefix(text[st.At:], []byte(st.New)):
			text = splice(text, st.At, st.New, st.Old)
			continue
		case st.Key == nil:
			continue
		}
		if lists, ok := s.(jsonSyntax); ok && st.Members != nil {
			text = lists.without(text, st)
			continue
		}
		from, to, ok, err := s.find(text, st.Key)
		switch {
		case err == nil && !ok && !st.Had: // it is gone
		case err != nil || !ok || !sameValue(string(text[from:to]), st.Value):
			left = append([]step{st}, left...)
		case st.Had:
			text = splice(text, from, string(text[from:to]), st.Old)
		default:
			text = s.remove(text, st.Key, st.Made)
		}
	}
	return text, left
}

// Values are what the change that a record is of has set, as written; none if there is no record.
func Values(undo string) (list []string) {
	if r, err := readRecord(undo); err == nil {
		for _, s := range r.Steps {
			list = append(append(list, s.Value), s.Members...)
		}
	}
	return list
}

func readRecord(path string) (*record, error) {
	data, err := term.ReadRegular(path)
	if err != nil {
		return nil, err
	}
	r := new(record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

func (r *record) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(data, '\n'))
}

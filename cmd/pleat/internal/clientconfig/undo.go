package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Undo plans to take back what was set under undo. If the file is as Set left it, it will be as it
// was before, byte for byte. Else each key that still has the value which was set gets its
// former value, or is removed; the others are Left. If nothing was set, the error is [fs.ErrNotExist].
// earlier are edits that will be written before.
func Undo(undo string, earlier ...*Edit) (*Edit, error) {
	rec, err := readRecord(undo)
	if err != nil {
		return nil, err
	}
	e, err := open(rec.Path, undo)
	if err != nil {
		return nil, err
	}
	for _, other := range earlier {
		if other.Path == e.Path {
			e.Before = other.After
		}
	}
	if e.Before == nil {
		return e, nil // somebody has deleted the file
	}
	// A file that has been moved and linked to is the user's: it stays, without what pleat has set.
	info, err := os.Lstat(rec.Path)
	moved := err == nil && info.Mode()&fs.ModeSymlink != 0
	if rec.Whole {
		if e.whole, e.Exact = true, sum(e.Before) == rec.Sum && !moved; !e.Exact {
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
	keys, err := s.decode(e.After)
	if _, before := s.decode(e.Before); err != nil && before == nil {
		return nil, damaged(undo, fmt.Errorf("without it %s would be broken: %w", rec.Path, err))
	}
	if !rec.Existed && !moved && err == nil && len(keys) == 0 && isEmpty(e.After) {
		e.After = nil
	}
	return e, nil
}

// isEmpty reports whether a file has nothing, not even comments.
func isEmpty(text []byte) bool {
	rest := bytes.Join(bytes.Fields(bytes.TrimPrefix(text, []byte("\ufeff"))), nil)
	return len(rest) == 0 || string(rest) == "{}"
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
		from, to, ok, err := s.find(text, st)
		if err == nil && !ok && !st.Had { // it is gone
			continue
		}
		mine, next := err == nil && ok && sameValue(string(text[from:to]), st.Value), text
		switch {
		case mine && st.Had:
			next = splice(text, from, string(text[from:to]), st.Old)
		case mine:
			next = s.remove(text, st)
		}
		if mine && sameBut(s, st.Key[0], text, next) {
			text = next
		} else {
			left = append([]step{st}, left...)
		}
	}
	return text, left
}

// sameBut reports whether two texts have the same values, but for one name at the top.
func sameBut(s syntax, name string, a, b []byte) bool {
	x, err1 := s.decode(a)
	y, err2 := s.decode(b)
	delete(x, name)
	delete(y, name)
	return err1 == nil && err2 == nil && Same(x, y)
}

// Values are what the change that a record is of has set, as written; none if there is no record.
func Values(undo string) (list []string) {
	if r, err := readRecord(undo); err == nil {
		for _, s := range r.Steps {
			list = append(list, s.Value)
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
	if err = json.Unmarshal(data, r); err == nil {
		err = r.check()
	}
	if err != nil {
		return nil, damaged(path, err)
	}
	return r, nil
}

func damaged(undo string, err error) error {
	return fmt.Errorf("read %s: %w (delete that file, and take back by hand what pleat had set)", undo, err)
}

// check refuses a record that no change can have left.
func (r *record) check() error {
	if r.Path == "" {
		return errors.New("it names no file")
	}
	if _, err := syntaxOf(r.Path); err != nil && !r.Whole {
		return err
	}
	for _, st := range r.Steps {
		if st.Key != nil && len(st.Key) == 0 || st.Key == nil && (st.Had || st.Value != "" || st.Member) {
			return errors.New("it has a step without a key")
		}
	}
	return nil
}

func (r *record) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return term.WriteIn(path, append(data, '\n'))
}

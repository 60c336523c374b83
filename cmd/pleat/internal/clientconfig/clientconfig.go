// Package clientconfig sets a few keys in the configuration file of another program, leaves
// the rest of the file as it is, byte for byte, and takes the change back.
//
//	key := clientconfig.Key{Path: []string{"env", "URL"}, Value: "http://127.0.0.1:4141"}
//	edit, err := clientconfig.Set(path, undo, key)
//	fmt.Print(edit.Diff())
//	err = edit.Write()
//	edit, err = clientconfig.Undo(undo)
//
// The file's name says what it is: .json and .jsonc may have comments; .toml; .yaml, .yml
// and .env, where only keys at the top can be set. An edit is checked before it can be
// written: decoded again, the file must have the same values as before, and the keys.
//
// The file at undo remembers what was replaced, and nothing else of the configuration,
// which may hold keys and passwords.
package clientconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Key is a key to set, by the names of the objects or tables around it and its own. A value
// is whatever JSON can say; in TOML no table, in YAML one line, in .env a text.
type Key struct {
	Path  []string
	Value any
}

// Added is a value: a list whose members come after those that the list in the file has.
type Added []any

// record is what is needed to take a change back.
type record struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Sum     string `json:"sum"` // of the file after the change
	Steps   []step `json:"steps"`
	Whole   bool   `json:"whole,omitempty"` // the file is ours
}

// step is one splice of text, and the key that it set.
type step struct {
	At  int    `json:"at"`
	Old string `json:"old"`
	New string `json:"new"`

	Key   []string `json:"key,omitempty"`   // none: it made the file
	Value string   `json:"value,omitempty"` // as written
	Had   bool     `json:"had,omitempty"`   // Old is its former value
	Made  int      `json:"made,omitempty"`  // how many objects or tables around it are new

	Member bool `json:"member,omitempty"` // it added the value to the list that the key has
}

type syntax interface {
	decode(text []byte) (map[string]any, error)
	encode(value any, depth int, text []byte) (string, error)
	find(text []byte, st step) (from, to int, ok bool, err error) // the value of its key
	insert(text []byte, st step, value any) (step, error)
	remove(text []byte, st step) []byte
}

func syntaxOf(path string) (syntax, error) {
	switch ext := filepath.Ext(path); ext {
	case ".json", ".jsonc":
		return jsonSyntax{}, nil
	case ".toml":
		return tomlSyntax, nil
	case ".yaml", ".yml":
		return yamlSyntax, nil
	case ".env":
		return envSyntax, nil
	default:
		return nil, fmt.Errorf("edit %s: files that end in %q are not known", path, ext)
	}
}

// Set plans to set keys in the file at path, which need not exist. undo is the path of a file
// that belongs to this change alone: what an earlier call wrote under it is replaced.
func Set(path, undo string, keys ...Key) (*Edit, error) {
	s, err := syntaxOf(path)
	if err != nil {
		return nil, err
	}
	e, err := open(path, undo)
	if err != nil {
		return nil, err
	}
	text := e.Before
	e.rec = &record{Path: path, Existed: e.Before != nil && !made(path, undo)}
	if old, err := readRecord(undo); err == nil {
		if old.Path != path {
			return nil, fmt.Errorf("edit %s: the same change was made in %s; take that back first", path, old.Path)
		}
		text, _ = old.takeBack(s, text)
		e.rec.Existed, e.steps = old.Existed, old.Steps
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	want, err := s.decode(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	_, isJSON := s.(jsonSyntax)
	if isJSON && len(bytes.TrimSpace(text)) == 0 {
		const empty = "{}\n"
		e.rec.Steps = append(e.rec.Steps, step{Old: string(text), New: empty})
		text = []byte(empty)
	}
	for _, k := range keys {
		more, member := k.Value.(Added)
		k, err := addTo(want, k)
		if err != nil {
			return nil, fmt.Errorf("edit %s: %w", path, err)
		}
		Put(want, k)
		if !member || !isJSON { // other lists are written anew
			more, member = Added{k.Value}, false
		}
		for _, value := range more {
			st, err := setKey(s, text, step{Key: k.Path, Member: member}, value)
			if err != nil {
				return nil, fmt.Errorf("edit %s: %w", path, err)
			}
			text = splice(text, st.At, st.Old, st.New)
			e.rec.Steps = append(e.rec.Steps, st)
		}
	}
	if got, err := s.decode(text); err != nil || !Same(got, want) {
		return nil, fmt.Errorf("edit %s: its form is not understood; set %s by hand", path, names(keys))
	}
	e.After, e.rec.Sum, e.steps = text, sum(text), append(e.steps, e.rec.Steps...)
	return e, nil
}

// made reports whether another change, whose record lies beside undo, made the file.
func made(path, undo string) bool {
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(undo), "*"))
	return slices.ContainsFunc(beside, func(name string) bool {
		rec, err := readRecord(name)
		return err == nil && rec.Path == path && !rec.Existed
	})
}

// Get is the value of a key in a file; nil: there is none.
func Get(path string, key ...string) (any, error) {
	s, err := syntaxOf(path)
	if err != nil {
		return nil, err
	}
	e, err := open(path, "")
	if err != nil {
		return nil, err
	}
	values, err := s.decode(e.Before)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return get(values, key), nil
}

// Create plans to write a file of our own at path, where no other may be. undo is as for [Set].
func Create(path, undo, text string) (*Edit, error) {
	e, err := open(path, undo)
	if err != nil {
		return nil, err
	}
	old, err := readRecord(undo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if e.Before != nil && (old == nil || old.Path != path || old.Sum != sum(e.Before)) && string(e.Before) != text {
		return nil, fmt.Errorf("write %s: there is another file of that name; move it away first", path)
	}
	e.After, e.whole = []byte(text), true
	e.rec = &record{Path: path, Sum: sum(e.After), Whole: true}
	return e, nil
}

// addTo makes a whole list of one that is to be added to the list in the file.
func addTo(values map[string]any, k Key) (Key, error) {
	more, ok := k.Value.(Added)
	if !ok {
		return k, nil
	}
	there := get(values, k.Path)
	list, ok := there.([]any)
	if there != nil && !ok {
		return k, fmt.Errorf("%s is not a list; add to it by hand: %s", names([]Key{k}), fmt.Sprint(more...))
	}
	return Key{k.Path, slices.Concat(list, more)}, nil
}

// setKey completes a step that sets a key.
func setKey(s syntax, text []byte, st step, value any) (step, error) {
	from, to, ok, err := s.find(text, st)
	if err != nil || !ok {
		return s.insert(text, st, value)
	}
	st.Value, err = s.encode(value, len(st.Key), text)
	st.At, st.Old, st.New, st.Had = from, string(text[from:to]), st.Value, true
	return st, err
}

func splice(text []byte, at int, old, new string) []byte {
	return bytes.Join([][]byte{text[:at], []byte(new), text[at+len(old):]}, nil)
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

func names(keys []Key) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = strings.Join(k.Path, ".")
	}
	return strings.Join(list, ", ")
}

// Put sets a key in decoded values.
func Put(values map[string]any, k Key) {
	for _, name := range k.Path[:len(k.Path)-1] {
		child, ok := values[name].(map[string]any)
		if !ok {
			child = make(map[string]any)
			values[name] = child
		}
		values = child
	}
	values[k.Path[len(k.Path)-1]] = k.Value
}

// Same compares values as JSON, because TOML, YAML and callers have their own types of numbers.
func Same(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// sameValue reports whether two texts are the same value, written perhaps with other spaces.
func sameValue(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil {
		return Same(x, y)
	}
	return a == b
}

package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A record that makes no sense is an error that says which file to delete.
func TestSenselessRecord(t *testing.T) {
	for _, record := range []string{
		"", "null", "[]", "{}", "{", `{"path":"a.ini"}`,
		`{"path":"$PATH","steps":[{"key":[]}]}`,
		`{"path":"$PATH","steps":[{"key":[],"member":true}]}`,
		`{"path":"$PATH","steps":[{"value":"x","had":true}]}`,
		`{"path":"$PATH","existed":true,"sum":"$SUM","steps":[{"at":0,"new":"","old":"}","key":["a"]}]}`,
	} {
		for _, name := range []string{"a.json", "a.toml"} {
			path := filepath.Join(t.TempDir(), name)
			undo, text := path+".undo", map[string]string{"a.json": `{"a": 1}`, "a.toml": "a = 1\n"}[name]
			write(t, path, text)
			write(t, undo, recordOf(record, path, text))
			_, err := Undo(undo)
			if err == nil || !strings.Contains(err.Error(), undo) || !strings.Contains(err.Error(), "delete that file") {
				t.Errorf("%s: %s: undo: %v", name, record, err)
			}
			if _, err := Set(path, undo, Key{[]string{"b"}, url}); err == nil {
				t.Errorf("%s: %s: it was set over it", name, record)
			}
		}
	}
}

// recordOf puts the name and the hash of a file into the text of a record.
func recordOf(record, path, text string) string {
	return strings.NewReplacer("$PATH", filepath.ToSlash(path), "$SUM", sum([]byte(text))).Replace(record)
}

// FuzzUndo: no record makes a reader panic, or breaks a file that could be read.
func FuzzUndo(f *testing.F) {
	for _, step := range []string{
		`{"key":[]}`, `{"key":["a"],"value":"1","had":true,"old":"2"}`, `{"at":1,"old":"x","new":"a"}`,
		`{"key":["a"],"value":"1","member":true,"made":-1}`, `{"key":["a","b",""],"made":9,"value":"1"}`,
	} {
		for i, text := range []string{`{"a": [1, 2], "b": {}}`, "a = 1\n[a.b]\n", "a: 1\n", "a=1\n"} {
			f.Add(`{"path":"$PATH","existed":true,"sum":"$SUM","steps":[`+step+`]}`, text, i)
			f.Add(`{"path":"$PATH","steps":[`+step+`]}`, text, i)
		}
	}
	f.Fuzz(func(t *testing.T, record, text string, kind int) {
		name := []string{"a.json", "a.toml", "a.yaml", ".env"}[uint(kind)%4]
		path := filepath.Join(t.TempDir(), name)
		undo := path + ".undo"
		write(t, path, text)
		write(t, undo, recordOf(record, path, text))
		Values(undo)
		e, err := Undo(undo)
		if err == nil && e.Path == path && e.After != nil {
			s, _ := syntaxOf(path)
			_, before := s.decode(e.Before)
			if _, after := s.decode(e.After); before == nil && after != nil {
				t.Errorf("%q became %q: %v", text, e.After, after)
			}
		}
		if e, err := Set(path, undo, Key{[]string{"URL"}, url}); err == nil {
			e.Diff()
		}
		if e, err := Create(path, undo, "x"); err == nil {
			e.Diff()
		}
	})
}

// A file that setup made, and that its user has moved elsewhere and linked to, stays: what was set is
// taken out of it.
func TestUndoFollowsLink(t *testing.T) {
	for _, whole := range []bool{false, true} {
		dir := t.TempDir()
		path, target, undo := filepath.Join(dir, "a.json"), filepath.Join(dir, "mine.json"), filepath.Join(dir, "undo")
		e, err := Set(path, undo, Key{[]string{"a"}, url})
		if whole {
			e, err = Create(path, undo, "{}")
		}
		if err == nil {
			err = e.Write()
		}
		must(t, err)
		if err := errors.Join(os.Rename(path, target), os.Symlink(target, path)); err != nil {
			t.Skip(err)
		}
		takeBack(t, undo)
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 || strings.Contains(read(t, target), url) ||
			(read(t, undo) != "") != whole {
			t.Errorf("whole %t: %v, it has %q", whole, err, read(t, target))
		}
	}
}

// A byte order mark inside of a text is the text's.
func TestMarkInside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	set(t, path, path+".undo", Key{[]string{"url"}, url})
	write(t, path, "{\"a\": \"x\ufeffy\", \"url\": \""+url+`"}`)
	takeBack(t, path+".undo")
	if got, want := read(t, path), "{\"a\": \"x\ufeffy\"}"; got != want {
		t.Errorf("it became %q, want %q", got, want)
	}
}

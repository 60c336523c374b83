package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/sessionlog"
)

// content is what a file has, up to the size that it had when it was opened: its agent may
// be writing to it.
type content struct {
	*io.SectionReader
	file io.Closer
}

func section(r io.ReaderAt, size int64) *io.SectionReader { return io.NewSectionReader(r, 0, size) }

func (c content) Close() error { return c.file.Close() }

// log opens the session in the content.
func (c content) log() (*sessionlog.Log, error) { return sessionlog.Open(c.SectionReader, nil) }

// maxOpenCode is the most that the files of an opencode session may have together.
const maxOpenCode = 256 << 20

// openCode puts the files of an opencode session together: session/PROJECT/ID.json,
// message/ID/*.json and part/MESSAGE/*.json. Its size becomes that of all, and it was
// modified when the newest was.
func (f *file) openCode() (content, error) {
	info, err := f.root.ReadFile(f.name)
	if err != nil {
		return content{}, err
	}
	var head struct{ ID string }
	if err := json.Unmarshal(info, &head); err != nil {
		return content{}, fmt.Errorf("read %s: %w", path.Base(f.name), err)
	}
	if head.ID == "" || strings.ContainsAny(head.ID, `/\`) {
		return content{}, fmt.Errorf("read %s: it has no ID", path.Base(f.name))
	}
	f.size = int64(len(info))
	type message struct {
		Info  json.RawMessage   `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}
	doc := struct {
		Info     json.RawMessage `json:"info"`
		Messages []message       `json:"messages"`
	}{info, []message{}}
	err = f.eachJSON("message/"+head.ID, func(name string, data []byte) error {
		m := message{data, []json.RawMessage{}}
		err := f.eachJSON("part/"+strings.TrimSuffix(name, ".json"), func(_ string, part []byte) error {
			m.Parts = append(m.Parts, part)
			return nil
		})
		doc.Messages = append(doc.Messages, m)
		return err
	})
	if err != nil {
		return content{}, err
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return content{}, fmt.Errorf("read %s: %w", path.Base(f.name), err)
	}
	return content{section(bytes.NewReader(data), int64(len(data))), io.NopCloser(nil)}, nil
}

// eachJSON reads the JSON files in a folder in order of name, which is the order in which
// opencode made them. One that is being written is left out.
func (f *file) eachJSON(folder string, each func(name string, data []byte) error) error {
	list, err := fs.ReadDir(f.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range list {
		if path.Ext(e.Name()) != ".json" {
			continue
		}
		data, err := f.root.ReadFile(folder + "/" + e.Name())
		if err != nil {
			return err
		}
		if f.size += int64(len(data)); f.size > maxOpenCode {
			return fmt.Errorf("read %s: %w", path.Base(f.name), sessionlog.ErrTooLarge)
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(f.modified) {
			f.modified = info.ModTime().UTC()
		}
		if json.Valid(data) {
			if err := each(e.Name(), data); err != nil {
				return err
			}
		}
	}
	return nil
}

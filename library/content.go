package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
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
	head, err := f.openCodeHead()
	if err != nil {
		return content{}, err
	}
	f.size = int64(len(head.raw))
	type message struct {
		Info  json.RawMessage   `json:"info"`
		Parts []json.RawMessage `json:"parts"`
	}
	doc := struct {
		Info     json.RawMessage `json:"info"`
		Messages []message       `json:"messages"`
	}{head.raw, []message{}}
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
	list, err := f.root.jsonFiles(folder)
	if err != nil {
		return err
	}
	for _, info := range list {
		if f.add(info); f.size > maxOpenCode {
			return fmt.Errorf("read %s: %w", path.Base(f.name), sessionlog.ErrTooLarge)
		}
		data, err := f.root.ReadFile(folder + "/" + info.Name())
		if err != nil {
			return err
		}
		if json.Valid(data) {
			if err := each(info.Name(), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonFiles lists the JSON files in a folder, in order of name.
func (r root) jsonFiles(folder string) (list []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(r.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if path.Ext(e.Name()) != ".json" || !e.Type().IsRegular() {
			continue
		}
		if info, gone := e.Info(); gone == nil {
			list = append(list, info)
		}
	}
	return list, err
}

// add counts another file of the session.
func (f *file) add(info fs.FileInfo) {
	f.size += info.Size()
	if info.ModTime().After(f.modified) {
		f.modified = info.ModTime().UTC()
	}
}

// addOpenCode counts the messages of an opencode session, and the parts of so many of them,
// the newest. Only those of the last ones change without a change of a message.
func (f *file) addOpenCode(newest int) {
	messages, _ := f.root.jsonFiles("message/" + strings.TrimSuffix(path.Base(f.name), ".json"))
	for i, m := range messages {
		f.add(m)
		if len(messages)-i > newest {
			continue
		}
		parts, _ := f.root.jsonFiles("part/" + strings.TrimSuffix(m.Name(), ".json"))
		for _, p := range parts {
			f.add(p)
		}
	}
}

// openCodeHead is what an opencode session says of itself.
type openCodeHead struct {
	raw                  []byte
	ID, Title, Directory string
}

func (f *file) openCodeHead() (head openCodeHead, err error) {
	info, err := f.root.Stat(filepath.FromSlash(f.name))
	if err != nil {
		return head, err
	}
	if !info.Mode().IsRegular() {
		return head, fmt.Errorf("read %s: not a regular file", path.Base(f.name))
	}
	if info.Size() > maxOpenCode {
		return head, fmt.Errorf("read %s: %w", path.Base(f.name), sessionlog.ErrTooLarge)
	}
	if head.raw, err = f.root.ReadFile(filepath.FromSlash(f.name)); err != nil {
		return head, err
	}
	if err := json.Unmarshal(head.raw, &head); err != nil {
		return head, fmt.Errorf("read %s: %w", path.Base(f.name), err)
	}
	if head.ID == "" || strings.ContainsAny(head.ID, `/\`) {
		return head, fmt.Errorf("read %s: it has no ID", path.Base(f.name))
	}
	return head, nil
}

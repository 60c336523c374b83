package library

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/sessionlog"
)

// agent says where an agent keeps its sessions: folders below the home folder, each with
// patterns of files in it. About so many bytes of such a file make a token of its messages.
type agent struct {
	name          sessionlog.Format
	bytesPerToken int64
	folders       map[string][]string
}

var agents = []agent{
	{sessionlog.ClaudeCode, 12, map[string][]string{".claude/projects": {"*/*.jsonl"}}},
	{sessionlog.Codex, 9, map[string][]string{".codex/sessions": {"*/*/*/*.jsonl", "*.jsonl"}, ".codex/archived_sessions": {"*.jsonl"}}},
	{sessionlog.OpenCode, 6, map[string][]string{".local/share/opencode/storage": {"session/*/*.json"}}},
	{sessionlog.GeminiCLI, 6, map[string][]string{".gemini/tmp": {"*/chats/*.json", "*/chats/*.jsonl"}}},
	{sessionlog.CopilotCLI, 10, map[string][]string{".copilot/session-state": {"*/events.jsonl", "*.jsonl"}}},
	{sessionlog.Pi, 6, map[string][]string{".pi/agent/sessions": {"*/*.jsonl", "*.jsonl"}}},
	{sessionlog.QwenCode, 12, map[string][]string{".qwen/projects": {"*/chats/*.jsonl"}}},
	{sessionlog.Cline, 6, map[string][]string{
		".cline/data/sessions":       {"*/*.messages.json"},
		".config/Code/" + clineTasks: clineHistory, "Library/Application Support/Code/" + clineTasks: clineHistory, "AppData/Roaming/Code/" + clineTasks: clineHistory,
	}},
	{sessionlog.Amp, 6, map[string][]string{".local/share/amp/threads": {"T-*.json", "*/T-*.json"}}},
	{sessionlog.Goose, 6, map[string][]string{".local/share/goose/sessions": {"*.jsonl"}}},
}

// Cline's extension keeps a folder for each task.
const clineTasks = "User/globalStorage/saoudrizwan.claude-dev/tasks"

var clineHistory = []string{"*/api_conversation_history.json"}

// Agents lists the agents whose sessions are found.
func Agents() (names []sessionlog.Format) {
	for _, a := range agents {
		names = append(names, a.name)
	}
	return names
}

// root is a folder of an agent. Links in it that lead out of it are not followed.
type root struct {
	*os.Root // nil: it is not there
	folder   string
	agent    agent
	patterns []string
	problem  string // why it could not be opened, as it was logged
}

// open opens the folder, unless it is open and still the one of that name.
func (r *root) open() error {
	now, err := os.Stat(r.folder)
	if r.Root != nil {
		if is, closed := r.Stat("."); err == nil && closed == nil && os.SameFile(is, now) {
			return nil
		}
		r.Close()
		r.Root = nil
	}
	if err == nil {
		r.Root, err = os.OpenRoot(r.folder)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openRoots opens the folders of an agent that are there now, or of all if none is named.
func (l *Library) openRoots(agent sessionlog.Format) (list []root) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.roots {
		r := &l.roots[i]
		if agent != "" && agent != r.agent.name {
			continue
		}
		problem := ""
		if err := r.open(); err != nil {
			problem = err.Error()
		}
		if problem != "" && problem != r.problem {
			l.o.Logger.Warn("the folder of an agent cannot be opened; its sessions are left out", "agent", r.agent.name, "error", problem)
		}
		if r.problem = problem; r.Root != nil {
			list = append(list, *r)
		}
	}
	return list
}

// file is a session file.
type file struct {
	id       string
	root     root
	name     string // below the root, with slashes
	size     int64
	modified time.Time
}

func (f file) path() string { return filepath.Join(f.root.Name(), filepath.FromSlash(f.name)) }

func (f file) info() Info {
	return Info{
		ID: f.id, Agent: string(f.root.agent.name), File: f.path(), Modified: f.modified, Bytes: f.size,
		Tokens: int(f.size / f.root.agent.bytesPerToken),
	}
}

// file finds out what a file is now.
func (r root) file(name string) (file, error) {
	info, err := r.Stat(filepath.FromSlash(name))
	if err != nil {
		return file{}, err
	}
	return r.fileOf(name, info)
}

func (r root) fileOf(name string, info fs.FileInfo) (file, error) {
	if !info.Mode().IsRegular() {
		return file{}, errors.New("not a regular file")
	}
	f := file{id: fileID(r.agent.name, path.Base(filepath.ToSlash(r.Name()))+"/"+name), root: r, name: name, size: info.Size(), modified: info.ModTime().UTC()}
	if r.agent.name == sessionlog.OpenCode {
		f.addOpenCode(2) // the last question and its answer
	}
	return f, nil
}

// fileID is the ID of a file's session, which is also its name in the store. It follows
// from the agent and from where the file is in its folder, so that it stays the same when
// the file grows.
func fileID(agent sessionlog.Format, name string) string {
	h := sha256.Sum256([]byte(name))
	return string(agent) + "-" + hex.EncodeToString(h[:5])
}

var fileIDPattern = regexp.MustCompile(`^[a-z]+(-[a-z]+)?-[0-9a-f]{10}$`)

func isFileID(id string) bool { return fileIDPattern.MatchString(id) }

// scan lists the files of an agent, or of all if none is named. A file that cannot be
// looked at, such as a link that leads elsewhere, is left out.
func (l *Library) scan(agent sessionlog.Format) []file {
	var list []file
	for _, r := range l.openRoots(agent) {
		for _, pattern := range r.patterns {
			list = r.match(list, ".", strings.Split(pattern, "/"))
		}
	}
	slices.SortFunc(list, func(a, b file) int {
		return cmp.Or(b.modified.Compare(a.modified), strings.Compare(a.name, b.name))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range list {
		l.files[f.id] = f
	}
	return list
}

// match appends the files in a folder that match a pattern. Of what is no link, the folder
// itself says what it is: that is several times as fast as asking for each.
func (r root) match(list []file, dir string, pattern []string) []file {
	in, err := r.Open(filepath.FromSlash(dir))
	if err != nil {
		return list
	}
	entries, _ := in.ReadDir(-1) // what could be read of it
	in.Close()
	for _, e := range entries {
		if ok, _ := path.Match(pattern[0], e.Name()); !ok {
			continue
		}
		name, isLink := path.Join(dir, e.Name()), e.Type()&fs.ModeSymlink != 0
		if len(pattern) > 1 {
			if e.IsDir() || isLink {
				list = r.match(list, name, pattern[1:])
			}
			continue
		}
		info, err := e.Info()
		if err == nil && isLink {
			info, err = r.Stat(filepath.FromSlash(name))
		}
		if err != nil {
			continue
		}
		if f, err := r.fileOf(name, info); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// fileNow is a file that a listing found, as it is now.
func (l *Library) fileNow(id string) (file, bool) {
	l.mu.Lock()
	f, ok := l.files[id]
	l.mu.Unlock()
	if !ok {
		return f, false
	}
	f, err := f.root.file(f.name)
	if err != nil {
		return f, false
	}
	l.mu.Lock()
	l.files[id] = f
	l.mu.Unlock()
	return f, true
}

// open opens the file for reading, as it is now. Of an opencode session, which is many
// files, it is the export that opencode would make.
func (f *file) open() (content, error) {
	if f.root.agent.name == sessionlog.OpenCode {
		return f.openCode()
	}
	in, err := f.root.Open(filepath.FromSlash(f.name))
	if err != nil {
		return content{}, err
	}
	info, err := in.Stat()
	if err != nil {
		in.Close()
		return content{}, err
	}
	f.size, f.modified = info.Size(), info.ModTime().UTC()
	return content{section(in, f.size), in}, nil
}

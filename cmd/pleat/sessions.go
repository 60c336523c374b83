package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/pleat-dev/pleat/userwords"
)

func sessionsCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Args:  noArguments,
		Short: "list the sessions that agents keep on this machine",
		Long: `Looks where Claude Code, Codex, opencode, Gemini CLI, Copilot CLI and pi keep their sessions in
your home folder, and lists them by agent, newest first, with size, tokens and title. Tokens
are estimated from the size of the file unless --count is given.

opencode keeps a session in many small files; "opencode export ID" turns them into one.`,
		Example: `# what is here?
pleat sessions
# the file of the newest Codex session
pleat sessions --agent codex --limit 1 --paths
# everything, counted exactly
pleat sessions --limit 0 --count`,
	}
	fl := c.Flags()
	var o sessionsFlags
	fl.StringVar(&o.home, "home", "", "look in this `FOLDER` instead of your home folder")
	fl.StringVar(&o.agent, "agent", "", "only sessions of `AGENT`: claude-code, codex, opencode, gemini-cli, copilot-cli or pi")
	fl.IntVar(&o.limit, "limit", 10, "at most `N` sessions of each agent; 0 for all")
	fl.BoolVar(&o.count, "count", false, "read every listed session and count its tokens")
	fl.BoolVar(&o.paths, "paths", false, "print the files' paths and nothing else")
	asJSON := fl.Bool("json", false, "print one JSON object")
	c.RunE = p.runs(func(ctx context.Context, p *program, _ []string) error {
		if o.home = cmp.Or(o.home, p.getenv("HOME"), p.getenv("USERPROFILE")); o.home == "" {
			return errors.New("no home folder: name one with --home")
		}
		j, err := p.findSessions(ctx, o)
		if err != nil {
			return err
		}
		return p.output(*asJSON, j)
	})
	return c
}

// sessionsJSON is what "pleat sessions --json" prints.
type sessionsJSON struct {
	Format string      `json:"format"`
	Agents []agentJSON `json:"agents"` // those with sessions

	home  string
	paths bool // for people: the files alone
}

type agentJSON struct {
	Agent    string         `json:"agent"`
	Found    int            `json:"found"`    // all of its sessions
	Sessions []foundSession `json:"sessions"` // newest first
}

type foundSession struct {
	File     string    `json:"file"`
	Modified time.Time `json:"modified"`
	Bytes    int64     `json:"bytes"`
	Tokens   int       `json:"tokens"`
	Counted  bool      `json:"counted"` // else the tokens are estimated from the size
	Messages int       `json:"messages,omitempty"`
	Title    string    `json:"title,omitempty"`
	ID       string    `json:"id,omitempty"` // opencode: what to export
	Problem  string    `json:"problem,omitempty"`
}

type sessionsFlags struct {
	home, agent string
	limit       int
	count       bool
	paths       bool
}

// agentFolders says where agents keep their sessions, below the home folder, and roughly how
// many bytes of such a file make a token of its messages.
var agentFolders = []struct {
	agent         sessionlog.Format
	bytesPerToken int64
	patterns      []string
}{
	{sessionlog.ClaudeCode, 12, []string{".claude/projects/*/*.jsonl"}},
	{sessionlog.Codex, 9, []string{".codex/sessions/*/*/*/*.jsonl", ".codex/sessions/*.jsonl", ".codex/archived_sessions/*.jsonl"}},
	{sessionlog.OpenCode, 6, []string{".local/share/opencode/storage/session/*/*.json"}},
	{sessionlog.GeminiCLI, 6, []string{".gemini/tmp/*/chats/*.json", ".gemini/tmp/*/chats/*.jsonl"}},
	{sessionlog.CopilotCLI, 10, []string{".copilot/session-state/*/events.jsonl", ".copilot/session-state/*.jsonl"}},
	{sessionlog.Pi, 6, []string{".pi/agent/sessions/*/*.jsonl", ".pi/agent/sessions/*.jsonl"}},
}

func (p *program) findSessions(ctx context.Context, o sessionsFlags) (*sessionsJSON, error) {
	j := &sessionsJSON{Format: "pleat/sessions/1", Agents: []agentJSON{}, home: o.home, paths: o.paths}
	known := false
	tell := p.progress()
	defer tell.done()
	for _, a := range agentFolders {
		if o.agent != "" && o.agent != string(a.agent) {
			continue
		}
		known = true
		list := filesOf(o.home, a.patterns)
		agent := agentJSON{Agent: string(a.agent), Found: len(list)}
		if o.limit > 0 {
			list = list[:min(len(list), o.limit)]
		}
		for i := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			tell.say("looking at %s", list[i].File)
			if !o.paths {
				list[i].look(a.agent, a.bytesPerToken, o.count)
			}
		}
		if agent.Sessions = list; agent.Found > 0 {
			j.Agents = append(j.Agents, agent)
		}
	}
	if !known {
		return nil, usageError{fmt.Sprintf("unknown agent %q: want claude-code, codex, opencode, gemini-cli, copilot-cli or pi", o.agent)}
	}
	return j, nil
}

// filesOf lists the files that match, newest first.
func filesOf(home string, patterns []string) []foundSession {
	var list []foundSession
	for _, pattern := range patterns {
		names, _ := fs.Glob(os.DirFS(home), pattern) // the patterns are well-formed
		for _, name := range names {
			file := filepath.Join(home, filepath.FromSlash(name))
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				list = append(list, foundSession{File: file, Modified: info.ModTime().UTC(), Bytes: info.Size()})
			}
		}
	}
	slices.SortFunc(list, func(a, b foundSession) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.File, b.File))
	})
	return list
}

// look finds out what a session is about.
func (s *foundSession) look(agent sessionlog.Format, bytesPerToken int64, count bool) {
	read := s.read
	if agent == sessionlog.OpenCode {
		read = s.readOpenCode
	}
	if err := read(count); err != nil {
		s.Problem = err.Error()
	}
	if !s.Counted {
		s.Tokens = int(s.Bytes / bytesPerToken)
	}
}

// read takes the title from the log, or else from the first words that a person typed.
// It reads on only to count.
func (s *foundSession) read(count bool) error {
	f, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := sessionlog.Open(f, nil)
	if err != nil {
		return err
	}
	defer log.Close()
	var msgs []transcript.Message
	first := ""
	for rec, err := range log.Records() {
		if err != nil {
			return err
		}
		if first == "" {
			if text, ok := userwords.TypedText(rec.Message); ok {
				first = oneLine(text)
			}
		}
		if !count && (first != "" || len(msgs) > 50) {
			break
		}
		msgs = append(msgs, rec.Message)
	}
	info := log.Info()
	s.Title = clip(cmp.Or(oneLine(info.Title), first), 200)
	if count {
		model, _ := model.DefaultModels().Lookup(info.Model)
		t := tokens.NewTokenizer(model, nil)
		s.Tokens, s.Counted, s.Messages = t.CountText(info.System), true, len(msgs)
		for _, m := range msgs {
			s.Tokens += t.CountMessage(m)
		}
	}
	return nil
}

// readOpenCode reads a session's own file, and adds up the files of its messages.
func (s *foundSession) readOpenCode(bool) error {
	data, err := os.ReadFile(s.File)
	if err != nil {
		return err
	}
	var info struct{ ID, Title string }
	if err := json.Unmarshal(data, &info); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(s.File), err)
	}
	s.ID, s.Title = info.ID, clip(oneLine(info.Title), 200)
	storage := filepath.Dir(filepath.Dir(filepath.Dir(s.File)))
	messages, _ := os.ReadDir(filepath.Join(storage, "message", info.ID))
	for _, m := range messages {
		parts, _ := os.ReadDir(filepath.Join(storage, "part", strings.TrimSuffix(m.Name(), ".json")))
		for _, e := range append(parts, m) {
			if fi, err := e.Info(); err == nil {
				s.Bytes += fi.Size()
			}
		}
	}
	s.Messages = len(messages)
	return nil
}

func (j *sessionsJSON) print(p *page) {
	if len(j.Agents) == 0 && !j.paths {
		p.line("no sessions of Claude Code, Codex, opencode, Gemini CLI, Copilot CLI or pi in %s", j.home)
	}
	for i, a := range j.Agents {
		if j.paths {
			for _, f := range a.Sessions {
				p.line("%s", f.File)
			}
			continue
		}
		if i > 0 {
			p.line("")
		}
		note := plural(a.Found, "session")
		if len(a.Sessions) < a.Found {
			note += fmt.Sprintf(", the newest %d", len(a.Sessions))
		}
		p.line("%s  %s", p.bold(a.Agent), p.dim(note))
		for _, f := range a.Sessions {
			tokens := "~" + short(f.Tokens)
			if f.Counted {
				tokens = short(f.Tokens)
			}
			line := fmt.Sprintf("  %s%9s%8s  ", f.Modified.Format("2006-01-02 15:04"), byteSize(f.Bytes), tokens)
			title := cmp.Or(f.Title, "(no title)")
			if f.Problem != "" {
				title = "(" + oneLine(f.Problem) + ")"
			}
			p.line("%s%s", line, p.clip(title, p.width-columns(line)))
			where := strings.Replace(f.File, j.home+string(filepath.Separator), "~"+string(filepath.Separator), 1)
			if f.ID != "" {
				where = "opencode export " + f.ID
			}
			p.line("      %s", p.dim(p.clipMiddle(where, p.width-6)))
		}
	}
}

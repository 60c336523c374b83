package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Programs that agents load, which call "pleat hook". In them "$PLEAT" stands for this program.
var (
	//go:embed inside/pi.js
	piInside string
	//go:embed inside/opencode.js
	opencodeInside string
)

const insideMark = "inside-"

// insideRecords are the names of the changes that put pleat inside an agent.
func (c client) insideRecords() []string {
	return []string{insideMark + c.name, insideMark + c.name + "-mcp"}
}

// isInside reports whether an agent is set up to run a program.
func (c client) isInside(p *term.Console, program string) bool {
	changes, err := c.insideChanges(p.Getenv, program)
	if err != nil {
		return false
	}
	text, err := term.ReadRegular(changes[0].path)
	quoted, failed := json.Marshal(program)
	return err == nil && failed == nil && (bytes.Contains(text, quoted) ||
		bytes.Contains(text, []byte(filepath.ToSlash(program)))) && bytes.Contains(text, []byte(hookName))
}

// inside puts pleat inside an agent.
func (f *editFlags) inside(ctx context.Context, p *term.Console, c client) error {
	program, err := installed()
	if err != nil {
		return err
	}
	changes, err := c.insideChanges(p.Getenv, program)
	if err != nil {
		return err
	}
	f.done = c.title + " runs pleat when it compacts. Restart it to begin.\n" +
		"To take it back: pleat setup " + c.name + " --inside --undo"
	if c.name == "codex" {
		f.done += "\nCodex asks you to review new hooks, and runs them only when you have."
	}
	return f.run(ctx, p, changes...)
}

// insideChanges are the files that put pleat inside an agent: what runs it around a compaction,
// and its MCP server, for recall.
func (c client) insideChanges(getenv func(string) string, program string) (list []change, err error) {
	first := change{record: insideMark + c.name}
	sibling := func(name ...string) string {
		if path := c.path(getenv); path != "" {
			return filepath.Join(append([]string{filepath.Dir(path)}, name...)...)
		}
		return ""
	}
	quoted, err := json.Marshal(program)
	if err != nil {
		return nil, err
	}
	script := func(text string) string { return strings.ReplaceAll(text, `"$PLEAT"`, string(quoted)) }
	switch c.name {
	case "claude":
		first.path = c.path(getenv)
		first.keys = hooksOf(program, "claude")
		line := clientconfig.Key{Path: []string{"statusLine"}, Value: object{
			"type": "command", "command": shellCall(runtime.GOOS, program, "status-line", "claude"),
		}}
		if free, err := isFree(first.path, line); err != nil {
			return nil, err
		} else if free {
			first.keys = append(first.keys, line)
		}
	case "codex":
		first.path, first.keys = sibling("hooks.json"), hooksOf(program, "codex")
	case "qwen":
		first.path, first.keys = sibling("settings.json"), hooksOf(program, "qwen")
	case "pi":
		first.path, first.text = sibling("extensions", "pleat.js"), script(piInside)
	case "opencode":
		first.path, first.text = sibling("plugins", "pleat.js"), script(opencodeInside)
	default:
		return nil, fmt.Errorf("pleat cannot be put inside %s: it can in claude, codex, opencode, pi and qwen", c.title)
	}
	list = append(list, first)
	for _, m := range mcpClients(program) {
		if m.name != c.name {
			continue
		}
		path := m.path(getenv)
		if free, err := isFree(path, m.set[0]); err != nil {
			return nil, err
		} else if free {
			list = append(list, change{record: insideMark + c.name + "-mcp", path: path, keys: m.set})
		}
	}
	return list, nil
}

// isFree reports whether a key has no value but the one that it would get.
func isFree(path string, k clientconfig.Key) (bool, error) {
	there, err := clientconfig.Get(path, k.Path...)
	return there == nil || clientconfig.Same(there, k.Value), err
}

// hooksOf are the hooks of Claude Code and of those that have taken over its form. They come
// after those that are there.
func hooksOf(program, agent string) []clientconfig.Key {
	wait := (2 * hookTime).Seconds()
	if agent == "qwen" { // which counts milliseconds
		wait *= 1000
	}
	hook := func(event, name, matcher string) clientconfig.Key {
		value := object{"hooks": []any{object{
			"type": "command", "command": shellCall(runtime.GOOS, program, name, agent), "timeout": wait,
		}}}
		if matcher != "" {
			value["matcher"] = matcher
		}
		return clientconfig.Key{Path: []string{"hooks", event}, Value: clientconfig.Added{value}}
	}
	return []clientconfig.Key{hook("PreCompact", "pre-compact", ""), hook("SessionStart", "session-start", "compact")}
}

// shellCall is a command of a shell that runs a hook. One that cannot be run must not stop the
// agent: pleat may have been deleted since.
func shellCall(system, program, event, agent string) string {
	call := fmt.Sprintf("%s %s %s --agent %s", shellWord(system, program), hookName, event, agent)
	if system == "windows" {
		return call
	}
	return call + " || exit 0"
}

// shellWord is how a shell is told of a program.
func shellWord(system, program string) string {
	if system == "windows" { // whichever shell that is
		return `"` + strings.ReplaceAll(program, `\`, "/") + `"`
	}
	return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
}

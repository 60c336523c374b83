package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Every flag of every command but config can also be set by the environment and by
// pleat.toml. The first of these that sets it wins:
//
//  1. the flag
//  2. the environment: --max-turns is PLEAT_MAX_TURNS
//  3. pleat.toml in this folder or the nearest one above it
//  4. pleat.toml in the user's configuration folder
//  5. the flag's default
//
// PLEAT_CONFIG names one file that replaces 3 and 4.
//
// In a file a key is a flag's name: at the top for all commands that have the flag, or in the
// table of one command, such as [run]. A project's file comes with whatever repository
// somebody cloned. So it may not set flags that run programs, allow tools or send the
// session elsewhere: see trustedOnly.
const settingsName = "pleat.toml"

// trustedOnly are the flags that a file found in a project folder may not set.
var trustedOnly = []string{
	"allow", "yes", "root", "no-redact",
	"before-tool", "after-tool", "before-epoch", "after-epoch",
	"listen", "host", "open", "token-file", "recall-dir", "upstream-anthropic", "upstream-openai",
	"store", "tenant", "answerer", "grader", "model", "digest-model", "otel",
}

// settingsFile is one pleat.toml.
type settingsFile struct {
	path    string
	trusted bool
	keys    map[string]any
}

// setting is a flag's value and where it came from.
type setting struct {
	name, value, from string
	ignored           string // a file that tried to set it but may not
}

// settingsFiles are the files in force, the one that wins first.
func (p *program) settingsFiles() ([]settingsFile, error) {
	if named := p.getenv("PLEAT_CONFIG"); named != "" {
		f, err := readSettings(named, true)
		return []settingsFile{f}, err
	}
	var out []settingsFile
	add := func(path string, trusted bool) error {
		f, err := readSettings(path, trusted)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !slices.ContainsFunc(out, func(g settingsFile) bool { return g.path == path }) {
			out = append(out, f)
		}
		return err
	}
	user := ""
	if dir := userFolder(runtime.GOOS, p.getenv, "AppData", "AppData/Roaming", "XDG_CONFIG_HOME", ".config"); dir != "" {
		user = filepath.Join(dir, "pleat", settingsName)
	}
	if near := nearest(settingsName); near != "" {
		if err := add(near, near == user); err != nil {
			return nil, err
		}
	}
	if user != "" {
		if err := add(user, true); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nearest finds a file in this folder or the nearest above it; "" if there is none.
func nearest(name string) string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func readSettings(path string, trusted bool) (settingsFile, error) {
	f := settingsFile{path: path, trusted: trusted, keys: make(map[string]any)}
	if _, err := toml.DecodeFile(path, &f.keys); err != nil {
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return f, fmt.Errorf("read %s: line %d: %s", path, e.Position.Line, e.Message)
		}
		return f, fmt.Errorf("read settings: %w", err)
	}
	return f, f.check()
}

// check refuses keys that no command has, which are spelling mistakes.
func (f settingsFile) check() error {
	known := make(map[string]bool)
	for _, c := range commands() {
		own := make(map[string]bool)
		c.eachFlag(func(name, _, _, _ string) { own[name], known[name] = true, true })
		table, ok := f.keys[c.name].(map[string]any)
		if !ok {
			continue
		}
		for key := range table {
			if !own[key] {
				return fmt.Errorf("read %s: [%s] %s: the command has no flag --%s", f.path, c.name, key, key)
			}
		}
	}
	for key, v := range f.keys {
		if _, table := v.(map[string]any); table {
			if _, ok := find(key); !ok {
				return fmt.Errorf("read %s: [%s]: no such command", f.path, key)
			}
		} else if !known[key] {
			return fmt.Errorf("read %s: %s: no command has a flag --%s", f.path, key, key)
		}
	}
	return nil
}

// lookup finds the values of a flag in the file: one, or several for a flag that may be
// given more than once.
func (f settingsFile) lookup(command, name string) ([]string, bool) {
	v, ok := f.keys[name]
	if table, is := f.keys[command].(map[string]any); is {
		if own, has := table[name]; has {
			v, ok = own, true
		}
	}
	if _, table := v.(map[string]any); !ok || table {
		return nil, false
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	values := make([]string, len(list))
	for i, v := range list {
		values[i] = fmt.Sprint(v)
	}
	return values, true
}

// settle sets the flags that the command line did not set, and returns where each value
// came from.
func (p *program) settle(c command, set *flag.FlagSet) ([]setting, error) {
	given := make(map[string]bool)
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	files, err := p.settingsFiles()
	if err != nil {
		return nil, err
	}
	var out []setting
	set.VisitAll(func(f *flag.Flag) {
		if err != nil {
			return
		}
		s := setting{name: f.Name, from: "default"}
		var values []string
		switch {
		case given[f.Name]:
			s.from = "flag"
		case p.getenv(envName(f.Name)) != "":
			s.from, values = "environment, "+envName(f.Name), []string{p.getenv(envName(f.Name))}
		default:
			values = s.fromFiles(c.name, files)
		}
		for _, v := range values {
			if e := set.Set(f.Name, v); e != nil {
				err = usageError{fmt.Sprintf("%s: %s = %q: %v", s.from, f.Name, v, e)}
				return
			}
		}
		s.value = f.Value.String()
		out = append(out, s)
	})
	return out, err
}

func (s *setting) fromFiles(command string, files []settingsFile) []string {
	for _, f := range files {
		values, ok := f.lookup(command, s.name)
		if !ok {
			continue
		}
		if !f.trusted && slices.Contains(trustedOnly, s.name) {
			s.ignored = f.path
			continue
		}
		s.from = f.path
		return values
	}
	return nil
}

func envName(flag string) string {
	return "PLEAT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
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
// somebody cloned, so it may only set what cannot harm: see harmless.
const settingsName = "pleat.toml"

// harmless are the flags that a file found in a project folder may set: how much is folded,
// and what lists show. None of them names a file, a program, a server, a session or a
// price, lifts a limit of the user's, hides a warning, or puts words into a prompt.
var harmless = []string{
	"budget", "window", "policy", "format", "json", "top", "hits", "around", "limit", "all", "files", "count",
	"numbered", "strict", "sidechains", "arms", "compactions", "synthetic", "no-money",
}

// settingsFile is one pleat.toml.
type settingsFile struct {
	Path    string `json:"path"`
	Trusted bool   `json:"trusted"`
	keys    map[string]any
}

type setting struct {
	Command string `json:"command"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	From    string `json:"from"`
	Ignored string `json:"ignored,omitempty"` // a project's file that tried to set it but may not
}

// settingsFiles are the files in force, the one that wins first.
func settingsFiles(p *term.Console, root *cobra.Command) (out []settingsFile, err error) {
	user := ""
	if dir := term.UserFolder(runtime.GOOS, p.Getenv, "AppData", "AppData/Roaming", "XDG_CONFIG_HOME",
		".config"); dir != "" {
		user = filepath.Join(dir, "pleat", settingsName)
	}
	paths := []string{nearest(settingsName), user}
	named := p.Getenv("PLEAT_CONFIG")
	if named != "" {
		paths = []string{named}
	}
	for _, path := range slices.Compact(paths) {
		f := settingsFile{Path: path, Trusted: path == user || path == named, keys: make(map[string]any)}
		read := term.ReadRegular
		if named != "" { // the user may name what no file is, such as /dev/null
			read = os.ReadFile
		}
		data, err := read(path)
		if err == nil {
			err = toml.Unmarshal(data, &f.keys)
		}
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, fmt.Errorf("read %s: line %d: %s", path, e.Position.Line, e.Message)
		}
		if errors.Is(err, fs.ErrNotExist) && named == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read settings: %w", err)
		}
		if err := f.check(root); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		out = append(out, f)
	}
	return out, nil
}

// nearest finds a file in this folder or the nearest above it; "" if there is none.
func nearest(name string) string {
	dir, err := os.Getwd()
	for last := ""; err == nil && dir != last; last, dir = dir, filepath.Dir(dir) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// check refuses keys that no command has, which are spelling mistakes.
func (f settingsFile) check(root *cobra.Command) error {
	flags := map[string][]string{}
	commands := names(root)
	each(root, func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags[c.Name()] = append(flags[c.Name()], f.Name)
			flags[""] = append(flags[""], f.Name)
		})
	})
	for key, v := range f.keys {
		table, ok := v.(map[string]any)
		if !ok && !slices.Contains(flags[""], key) {
			return fmt.Errorf("%s: no command has a flag --%s%s", key, key, term.DidYouMean("", key, flags[""]))
		}
		if ok && !slices.Contains(commands, key) {
			return fmt.Errorf("[%s]: no such command%s", key, term.DidYouMean("", key, commands))
		}
		for name := range table {
			if !slices.Contains(flags[key], name) {
				return fmt.Errorf("[%s] %s: the command has no flag --%s%s", key, name, name,
					term.DidYouMean("", name, flags[key]))
			}
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

// may reports whether the file may give a flag these values. A project may choose a policy
// by its name, but not name a file.
func (f settingsFile) may(name string, values []string) bool {
	if name == "inside" { // a project may only say no
		return f.Trusted || slices.Equal(values, []string{"false"})
	}
	return f.Trusted || slices.Contains(harmless, name) &&
		(name != "policy" || !slices.ContainsFunc(values,
			func(v string) bool { return !slices.Contains(sessionfile.PolicyNames(), v) }))
}

// settle sets the flags that the command line did not set, and returns where each value
// came from.
func settle(p *term.Console, c *cobra.Command) (out []setting, err error) {
	files, err := settingsFiles(p, c.Root())
	if err != nil {
		return nil, err
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, typed := f.Annotations[term.Typed]; err != nil || typed || f.Name == "help" {
			return
		}
		s := setting{Command: c.Name(), Name: f.Name, From: "default"}
		env := "PLEAT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		var values []string
		switch v := p.Getenv(env); {
		case f.Changed:
			s.From = "flag"
		case v != "":
			s.From, values = "environment, "+env, []string{v}
		default:
			values = s.fromFiles(c.Name(), files)
		}
		for _, v := range values {
			if e := c.Flags().Set(f.Name, v); e != nil {
				err = term.UsageError(fmt.Sprintf("%s: %s = %q: %v", s.From, f.Name, v, e))
				return
			}
		}
		s.Value = f.Value.String()
		out = append(out, s)
	})
	return out, err
}

func (s *setting) fromFiles(command string, files []settingsFile) []string {
	for _, f := range files {
		if values, ok := f.lookup(command, s.Name); ok {
			if f.may(s.Name, values) {
				s.From = f.Path
				return values
			}
			s.Ignored = f.Path
		}
	}
	return nil
}

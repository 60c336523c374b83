package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// service is the proxy as a program that the system starts when its user logs in.
type service struct {
	file, text  string // what describes it; no file: the commands do
	start, stop [][]string
	log         string   // how to see what it logs
	made        []string // folders that were made for the file, the innermost first
	was         []byte   // what the file said before; nil: there was none
}

// serviceOf describes the service of a system that runs a command.
func serviceOf(goos, home string, getenv func(string) string, command []string) (service, error) {
	var environ []string // tasks of Windows have the user's own
	for _, name := range webProxyNames {
		if value := getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	switch goos {
	case "darwin":
		const label = "dev.pleat.proxy"
		file := filepath.Join(home, "Library", "LaunchAgents", label+".plist")
		log := filepath.Join(home, "Library", "Logs", "pleat.log")
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		return service{
			file: file, text: launchAgent(label, log, command, environ), log: log,
			start: [][]string{{"launchctl", "bootstrap", domain, file}},
			stop:  [][]string{{"launchctl", "bootout", domain + "/" + label}},
		}, nil
	case "windows":
		run := quoted(command, strings.NewReplacer(`"`, `\"`))
		return service{
			start: [][]string{
				{"schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN", "pleat", "/TR", run},
				{"schtasks", "/Run", "/TN", "pleat"},
			},
			stop: [][]string{{"schtasks", "/End", "/TN", "pleat"}, {"schtasks", "/Delete", "/F", "/TN", "pleat"}},
		}, nil
	case "linux":
		config := cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
		ctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
		return service{
			file: filepath.Join(config, "systemd", "user", "pleat.service"), log: "journalctl --user -u pleat",
			text: "[Unit]\nDescription=pleat proxy\n\n[Service]\nExecStart=" +
				quoted(command, strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`)) +
				"\nEnvironment=" + quoted(environ, strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`)) +
				"\nRestart=on-failure\n\n[Install]\nWantedBy=default.target\n",
			start: [][]string{ctl("daemon-reload"), ctl("enable", "pleat.service"), ctl("restart", "pleat.service")},
			stop:  [][]string{ctl("disable", "--now", "pleat.service")},
		}, nil
	}
	return service{}, fmt.Errorf("pleat knows no services of %s: run \"pleat proxy\" from what starts programs there",
		goos)
}

// proxyStart is the command that starts a proxy: where no system takes services, it runs in a terminal.
func proxyStart(goos string, getenv func(string) string) string {
	known := goos == "darwin" || goos == "windows"
	if run := getenv("XDG_RUNTIME_DIR"); goos == "linux" && run != "" {
		known = !missing(filepath.Join(run, "systemd", "private")) || !missing(filepath.Join(run, "bus"))
	}
	if known {
		return "pleat proxy start"
	}
	return "pleat proxy"
}

func quoted(words []string, escape *strings.Replacer) string {
	var out []string
	for _, w := range words {
		out = append(out, `"`+escape.Replace(w)+`"`)
	}
	return strings.Join(out, " ")
}

func launchAgent(label, log string, command []string, environ []string) string {
	var b bytes.Buffer
	element := func(tag, text string) {
		b.WriteString("<" + tag + ">")
		_ = xml.EscapeText(&b, []byte(text)) // never fails here
		b.WriteString("</" + tag + ">\n")
	}
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ` +
		`"http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\"><dict>\n")
	element("key", "Label")
	element("string", label)
	element("key", "ProgramArguments")
	b.WriteString("<array>\n")
	for _, w := range command {
		element("string", w)
	}
	b.WriteString("</array>\n<key>EnvironmentVariables</key>\n<dict>\n")
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		element("key", name)
		element("string", value)
	}
	b.WriteString("</dict>\n<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><true/>\n")
	element("key", "ExitTimeOut") // in seconds; launchd kills after 20 otherwise, streams or not
	element("integer", fmt.Sprint((drainTime + 10*time.Second).Seconds()))
	element("key", "StandardErrorPath")
	element("string", log)
	b.WriteString("</dict></plist>\n")
	return b.String()
}

// serviceHere is the service of this machine, for the proxy with these arguments.
func serviceHere(p *term.Console, args []string) (service, error) {
	program, err := installed()
	home := cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE"))
	if err == nil && home == "" {
		err = errors.New("there is no home folder")
	}
	if err != nil {
		return service{}, err
	}
	return serviceOf(runtime.GOOS, home, p.Getenv, append([]string{program, "proxy"}, args...))
}

// given are the flags that were set, as arguments for a program in another folder.
func given(fs *pflag.FlagSet) (args []string) {
	fs.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		kind, _ := pflag.UnquoteUsage(f)
		for _, v := range values {
			if abs, err := filepath.Abs(v); err == nil && (kind == "FILE" || kind == "FOLDER") &&
				!strings.Contains(v, "://") {
				v = abs
			}
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// startService starts the proxy in the background, now and at every login.
func startService(ctx context.Context, p *term.Console, address string, args []string) error {
	s, err := serviceHere(p, args)
	if err != nil {
		return err
	}
	if s.file != "" {
		if s.was, err = s.own(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("start the proxy: %w", err)
		}
		for dir := filepath.Dir(s.file); missing(dir); dir = filepath.Dir(dir) {
			s.made = append(s.made, dir)
		}
		if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
			return fmt.Errorf("start the proxy: %w", err)
		}
		if err := os.WriteFile(s.file, []byte(s.text), 0o600); err != nil {
			return fmt.Errorf("start the proxy: %w", err)
		}
	}
	if err := s.run(ctx, s.start); err != nil {
		if s.was != nil {
			return errors.Join(err, os.WriteFile(s.file, s.was, 0o600))
		}
		return errors.Join(err, s.forget())
	}
	p.Printf("The proxy starts now and whenever you log in; \"pleat proxy stop\" ends both.\n")
	if s.log != "" {
		p.Printf("Its log: %s\n", s.log)
	}
	if !tally.Await(ctx, address) {
		p.Note("pleat: it does not answer at %s yet; \"pleat status%s\" asks again\n", address, tally.At(address))
	}
	return nil
}

func stopService(ctx context.Context, p *term.Console) error {
	s, err := serviceHere(p, nil)
	if err != nil {
		return err
	}
	if s.file != "" {
		switch _, err := s.own(); {
		case errors.Is(err, fs.ErrNotExist):
			return errors.New("the proxy is no service here: end it where it was started")
		case err != nil:
			return fmt.Errorf("stop the proxy: %w", err)
		}
	}
	if err := s.run(ctx, s.stop); err != nil {
		return err
	}
	p.Printf("The proxy is stopped, and no longer starts when you log in.\n")
	return s.forget()
}

// own returns what the file says, and an error if it is not there, or is not one that pleat wrote.
func (s service) own() ([]byte, error) {
	const begin = 50 // bytes that tell a file of pleat's from one of the user's
	text, err := term.ReadRegular(s.file)
	if err == nil && !strings.HasPrefix(string(text), s.text[:begin]) {
		err = fmt.Errorf("%s is not pleat's: move it away, or start the proxy from it", s.file)
	}
	return text, err
}

func (s service) forget() error {
	if s.file == "" {
		return nil
	}
	err := os.Remove(s.file)
	for _, dir := range s.made {
		_ = os.Remove(dir) // unless something is in it
	}
	return err
}

func (s service) run(ctx context.Context, commands [][]string) error {
	for _, c := range commands {
		if out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s (\"pleat proxy\" in a terminal needs no service)", strings.Join(c, " "), err,
				term.Clip(term.OneLine(string(out)), 200))
		}
	}
	return nil
}

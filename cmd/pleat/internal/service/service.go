// Package service runs the proxy as a program that the system starts when its user logs in: as a unit of
// systemd, an agent of launchd or a scheduled task of Windows.
package service

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
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Options say what the system runs, and for whom.
type Options struct {
	System  string        // as [runtime.GOOS] names it
	Home    string        // the user's folder
	Config  string        // where programs keep a user's settings on Linux; "": in Home
	Command []string      // the proxy, by its absolute path, with its flags
	Environ []string      // NAME=value, where it has no environment of the user's own
	Ending  time.Duration // how long it may take to end
}

// Service is a proxy that the system starts.
type Service struct {
	Log string // how to see what it logs; "": it is not known

	file, text  string // what describes it; no file: the commands do
	start, stop [][]string
}

// New describes the service of a system that runs a command.
func New(o Options) (*Service, error) {
	if o.Home == "" {
		return nil, errors.New("there is no home folder")
	}
	switch o.System {
	case "darwin":
		const label = "dev.pleat.proxy"
		file := filepath.Join(o.Home, "Library", "LaunchAgents", label+".plist")
		log := filepath.Join(o.Home, "Library", "Logs", "pleat.log")
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		return &Service{
			file: file, text: o.launchAgent(label, log), Log: log,
			start: [][]string{{"launchctl", "bootstrap", domain, file}},
			stop:  [][]string{{"launchctl", "bootout", domain + "/" + label}},
		}, nil
	case "windows":
		run := quoted(o.Command, strings.NewReplacer(`"`, `\"`))
		return &Service{
			start: [][]string{
				{"schtasks", "/Create", "/F", "/SC", "ONLOGON", "/TN", "pleat", "/TR", run},
				{"schtasks", "/Run", "/TN", "pleat"},
			},
			stop: [][]string{{"schtasks", "/End", "/TN", "pleat"}, {"schtasks", "/Delete", "/F", "/TN", "pleat"}},
		}, nil
	case "linux":
		config := cmp.Or(o.Config, filepath.Join(o.Home, ".config"))
		ctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
		return &Service{
			file: filepath.Join(config, "systemd", "user", "pleat.service"), Log: "journalctl --user -u pleat",
			text: "[Unit]\nDescription=pleat proxy\n\n[Service]\nExecStart=" +
				quoted(o.Command, strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`)) +
				"\nEnvironment=" + quoted(o.Environ, strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`)) +
				"\nRestart=on-failure\n\n[Install]\nWantedBy=default.target\n",
			start: [][]string{ctl("daemon-reload"), ctl("enable", "pleat.service"), ctl("restart", "pleat.service")},
			stop:  [][]string{ctl("disable", "--now", "pleat.service")},
		}, nil
	}
	return nil, fmt.Errorf("pleat knows no services of %s: run \"pleat proxy\" from what starts programs there",
		o.System)
}

// Command starts a proxy: where no system takes services, it runs in a terminal. Sessions of Linux have a
// folder for what runs in them; "": there is none.
func Command(system, session string) string {
	known := system == "darwin" || system == "windows"
	if system == "linux" && session != "" {
		known = !term.Missing(filepath.Join(session, "systemd", "private")) || !term.Missing(filepath.Join(session, "bus"))
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

func (o Options) launchAgent(label, log string) string {
	element := func(tag, text string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(text)) // never fails here
		return "<" + tag + ">" + b.String() + "</" + tag + ">\n"
	}
	command, environ := "", ""
	for _, w := range o.Command {
		command += element("string", w)
	}
	for _, v := range o.Environ {
		name, value, _ := strings.Cut(v, "=")
		environ += element("key", name) + element("string", value)
	}
	return xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ` +
		`"http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\"><dict>\n" +
		element("key", "Label") + element("string", label) +
		element("key", "ProgramArguments") + "<array>\n" + command + "</array>\n" +
		element("key", "EnvironmentVariables") + "<dict>\n" + environ + "</dict>\n" +
		"<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><true/>\n" +
		// launchd kills after 20 seconds otherwise, streams or not
		element("key", "ExitTimeOut") + element("integer", fmt.Sprint(o.Ending.Seconds())) +
		element("key", "StandardErrorPath") + element("string", log) + "</dict></plist>\n"
}

// Start starts the proxy in the background, now and at every login. If that fails, the
// description is what it was before.
func (s *Service) Start(ctx context.Context) error {
	if s.file == "" {
		return run(ctx, inTerminal, s.start)
	}
	was, err := s.own()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = term.WriteIn(s.file, []byte(s.text))
	}
	if err != nil {
		return fmt.Errorf("start the proxy: %w", err)
	}
	if err = run(ctx, inTerminal, s.start); err == nil {
		return nil
	}
	if was != nil {
		return errors.Join(err, term.WriteIn(s.file, was))
	}
	return errors.Join(err, os.Remove(s.file))
}

// Stop ends the proxy, which does not start any more either.
func (s *Service) Stop(ctx context.Context) error {
	if s.file == "" {
		return run(ctx, "", s.stop)
	}
	switch _, err := s.own(); {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("the proxy does not run as a service; stop it where you started it")
	case err != nil:
		return fmt.Errorf("stop the proxy: %w", err)
	}
	if err := run(ctx, "", s.stop); err != nil {
		return err
	}
	return os.Remove(s.file)
}

// own returns what the file says, and an error if it is not there, or is not one that pleat wrote.
func (s *Service) own() ([]byte, error) {
	const begin = 50 // bytes that tell a file of pleat's from one of the user's
	text, err := term.ReadRegular(s.file)
	if err == nil && !strings.HasPrefix(string(text), s.text[:begin]) {
		err = fmt.Errorf("%s is not pleat's: move it away, or start the proxy from it", s.file)
	}
	return text, err
}

// inTerminal begins the error of a system that does not start the proxy.
const inTerminal = "no service manager starts it here, so run \"pleat proxy\" in a terminal: "

func run(ctx context.Context, help string, commands [][]string) error {
	for _, c := range commands {
		if out, err := exec.CommandContext(ctx, c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s%s: %w: %s", help, strings.Join(c, " "), err, term.Clip(term.OneLine(string(out)), 200))
		}
	}
	return nil
}

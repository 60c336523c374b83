package service

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/difftest"
)

// Each system is told to run the command as it was given, at every login, through the web proxy of its start.
func TestNew(t *testing.T) {
	o := Options{
		Home: "/home/u", Command: []string{"/opt/my tools/pleat", "proxy", `--dir=50% "&" $HOME\x`},
		Environ: []string{"HTTPS_PROXY=http://u:50%@web:3128", "no_proxy=corp.example"}, Ending: 70 * time.Second,
	}
	for system, want := range map[string][]string{
		"linux": {
			`ExecStart="/opt/my tools/pleat" "proxy" "--dir=50%% \"&\" $$HOME\\x"`, "WantedBy=default.target",
			"/home/u/.config/systemd/user/pleat.service", "enable pleat.service", "disable --now pleat.service",
			"\nEnvironment=\"HTTPS_PROXY=http://u:50%%@web:3128\" \"no_proxy=corp.example\"\n",
		},
		"darwin": {
			"<string>/opt/my tools/pleat</string>", `<string>--dir=50% &#34;&amp;&#34; $HOME\x</string>`,
			"<key>RunAtLoad</key><true/>", "/home/u/Library/LaunchAgents/dev.pleat.proxy.plist", "bootstrap gui/",
			"<key>ExitTimeOut</key>\n<integer>70</integer>",
			"bootout gui/", "<key>HTTPS_PROXY</key>\n<string>http://u:50%@web:3128</string>\n<key>no_proxy</key>",
		},
		"windows": {
			`"/opt/my tools/pleat" "proxy" "--dir=50% \"&\" $HOME\x"`, "/SC ONLOGON", "/Run /TN pleat",
			"/End /TN pleat", "/Delete /F /TN pleat",
		},
	} {
		o.System = system
		s, err := New(o)
		difftest.Must(t, err)
		all := s.file + "\n" + s.text
		for _, c := range slices.Concat(s.start, s.stop) {
			all += "\n" + strings.Join(c, " ")
		}
		for _, w := range want {
			if !strings.Contains(strings.ReplaceAll(all, `\home`, "/home"), w) {
				t.Errorf("%s: no %s in\n%s", system, w, all)
			}
		}
	}
	o.System = "plan9"
	if _, err := New(o); err == nil {
		t.Error("a system that has no services got one")
	}
}

// A start that fails leaves what there was: the description of an earlier one, or nothing.
func TestFailedStart(t *testing.T) {
	home := t.TempDir()
	t.Setenv("PATH", home) // without systemctl
	start := func() error {
		s, err := New(Options{System: "linux", Home: home, Command: []string{"/opt/pleat", "proxy"}})
		difftest.Must(t, err)
		return s.Start(t.Context())
	}
	if err := start(); err == nil {
		t.Fatal("it started")
	}
	file := filepath.Join(home, ".config", "systemd", "user", "pleat.service")
	if !term.Missing(file) {
		t.Errorf("%s is left", file)
	}
	old := "[Unit]\nDescription=pleat proxy\n\n[Service]\nExecStart=\"/opt/pleat\" \"proxy\"\n"
	difftest.Must(t, term.WriteIn(file, []byte(old)))
	if err := start(); err == nil {
		t.Fatal("it started")
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != old {
		t.Errorf("got %q, %v", got, err)
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
)

// Each system is told to run the command as it was given, at every login.
func TestServiceOf(t *testing.T) {
	command := []string{"/opt/my tools/pleat", "proxy", `--dir=50% "&" $HOME\x`}
	for goos, want := range map[string][]string{
		"linux": {
			`ExecStart="/opt/my tools/pleat" "proxy" "--dir=50%% \"&\" $$HOME\\x"`, "WantedBy=default.target",
			"/home/u/.config/systemd/user/pleat.service", "enable pleat.service", "disable --now pleat.service",
		},
		"darwin": {
			"<string>/opt/my tools/pleat</string>", `<string>--dir=50% &#34;&amp;&#34; $HOME\x</string>`,
			"<key>RunAtLoad</key><true/>", "/home/u/Library/LaunchAgents/dev.pleat.proxy.plist", "bootstrap gui/",
			"<key>ExitTimeOut</key>\n<integer>70</integer>",
			"bootout gui/",
		},
		"windows": {
			`"/opt/my tools/pleat" "proxy" "--dir=50% \"&\" $HOME\x"`, "/SC ONLOGON", "/Run /TN pleat",
			"/End /TN pleat", "/Delete /F /TN pleat",
		},
	} {
		s, err := serviceOf(goos, "/home/u", func(string) string { return "" }, command)
		if err != nil {
			t.Fatal(err)
		}
		all := s.file + "\n" + s.text
		for _, c := range slices.Concat(s.start, s.stop) {
			all += "\n" + strings.Join(c, " ")
		}
		for _, w := range want {
			if !strings.Contains(strings.ReplaceAll(all, `\home`, "/home"), w) {
				t.Errorf("%s: no %s in\n%s", goos, w, all)
			}
		}
	}
	if _, err := serviceOf("plan9", "/home/u", nil, command); err == nil {
		t.Error("a system that has no services got one")
	}
}

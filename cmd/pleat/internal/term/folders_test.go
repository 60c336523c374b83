package term

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestDataFolder(t *testing.T) {
	for _, c := range []struct {
		goos string
		env  map[string]string
		want string
	}{
		{"linux", map[string]string{"HOME": "/home/me"}, "/home/me/.local/share"},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_DATA_HOME": "/data"}, "/data"},
		{"linux", map[string]string{"HOME": "/home/me", "XDG_DATA_HOME": "data"}, "/home/me/.local/share"},
		{"linux", nil, ""},
		{
			"darwin",
			map[string]string{"HOME": "/Users/me", "XDG_DATA_HOME": "/data"},
			"/Users/me/Library/Application Support",
		},
		{"windows", map[string]string{"LocalAppData": "/C/Local"}, "/C/Local"},
		{"windows", map[string]string{"USERPROFILE": "/C/me"}, "/C/me/AppData/Local"},
		{"windows", nil, ""},
	} {
		got := filepath.ToSlash(DataFolder(c.goos, func(name string) string { return c.env[name] }))
		if got != c.want && runtime.GOOS != "windows" {
			t.Errorf("%s %v: %q, want %q", c.goos, c.env, got, c.want)
		}
	}
}

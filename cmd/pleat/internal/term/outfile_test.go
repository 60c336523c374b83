package term

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

// A device stays a device: writing to it must not put a file in its place.
func TestWriteToDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no devices among the files here")
	}
	p := &Console{}
	difftest.Must(t, p.WriteTo(os.DevNull, 0o600, hello))
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("%s is %v now (%v)", os.DevNull, info.Mode(), err)
	}
}

func TestWriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	difftest.Must(t, os.WriteFile(file, []byte("old"), 0o600))
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	difftest.Must(t, (&Console{}).WriteTo(link, 0o644, hello))
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v now (%v)", info.Mode(), err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "hello" {
		t.Errorf("the file has %q (%v)", got, err)
	}
}

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

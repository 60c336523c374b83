package term

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
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
	if err := p.WriteTo(t.Context(), os.DevNull, hello); err != nil {
		t.Fatal(err)
	}
	if err := WriteNewFile(t.Context(), os.DevNull, true, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("%s is %v now (%v)", os.DevNull, info.Mode(), err)
	}
}

func TestWriteThroughLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := (&Console{}).WriteTo(t.Context(), link, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v now (%v)", info.Mode(), err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "hello" {
		t.Errorf("the file has %q (%v)", got, err)
	}
}

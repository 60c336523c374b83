package pleat_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every promise in docs/security.md names tests, and they exist.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("docs/security.md")
	must(t, err)
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var code []byte
			code, err = os.ReadFile(path)
			tests.Write(code)
		}
		return err
	})
	must(t, err)
	names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 10 {
		t.Errorf("the page names %d tests", len(names))
	}
	for _, name := range names {
		if !strings.Contains(tests.String(), "\nfunc "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var inBackticks = regexp.MustCompile("`([^`]+)`")

// Every file that docs/sources.md names is there.
func TestSourcesFiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/sources.md")
	must(t, err)
	file := regexp.MustCompile("`([a-z][a-z/_]*(?:/|\\.go|/[a-z]+\\.txt|/telemetry))`")
	found := file.FindAllStringSubmatch(string(page), -1)
	if len(found) < 40 {
		t.Errorf("the page names %d files", len(found))
	}
	for _, f := range found {
		if _, err := os.Stat("../../" + f[1]); err != nil && f[1] != "legacy/" {
			t.Error(err)
		}
	}
}

// Every command of docs/sources.md runs and shows what the page says, in the order of the
// page and in one folder.
func TestSourcesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and does one thing at a time: run without -short by go test work")
	}
	page, err := os.ReadFile("../../docs/sources.md")
	must(t, err)
	var script strings.Builder
	script.WriteString("env HOME=$WORK\n")
	rows, last := 0, ""
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || !strings.HasPrefix(strings.TrimSpace(cells[4]), "`pleat ") {
			continue
		}
		rows++
		if command := strings.Trim(cells[4], " `"); command != last {
			if strings.Contains(cells[5], "`exit status 1`") {
				script.WriteString("! ")
			}
			fmt.Fprintf(&script, "exec %s\n", command)
			last = command
		}
		for _, shows := range inBackticks.FindAllStringSubmatch(cells[5], -1) {
			if file, ok := strings.CutPrefix(shows[1], "./"); ok {
				fmt.Fprintf(&script, "exists-glob %s\n", file)
				continue
			}
			if shows[1] == "exit status 1" {
				continue
			}
			text := regexp.QuoteMeta(shows[1])
			fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll(text, "'", "''"))
		}
	}
	if rows < 40 {
		t.Fatalf("the page has %d rows with commands", rows)
	}
	dir := t.TempDir()
	writeTest(t, filepath.Join(dir, "sources.txt"), []byte(script.String()))
	testscript.Run(t, testscript.Params{Dir: dir, Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"exists-glob": func(ts *testscript.TestScript, _ bool, args []string) {
			if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) == 0 {
				ts.Fatalf("there is no file %s", args[0])
			}
		},
	}})
}

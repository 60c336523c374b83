package wiretest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// File is a file of a text archive (txtar).
type File struct{ Name, Data string }

// Archive takes a text archive apart: a comment, then files behind lines "-- name --".
func Archive(text string) (comment string, files []File) {
	at := &comment
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, end := strings.CutSuffix(name, " --\n"); ok && end {
			files = append(files, File{Name: name})
			at = &files[len(files)-1].Data
			continue
		}
		*at += line
	}
	return comment, files
}

// Golden runs make on the first files of each archive, the given number of them, and
// compares the others with what it returns.
func Golden(t *testing.T, pattern string, inputs int, make func(t *testing.T, name string, in []File) []File) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, files := Archive(string(want))
			for _, f := range append(files[:inputs:inputs], make(t, name, files[:inputs])...) {
				got += "-- " + f.Name + " --\n" + f.Data
				if f.Data != "" && !strings.HasSuffix(f.Data, "\n") {
					got += "\n"
				}
			}
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

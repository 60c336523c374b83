package filestate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/ledger/toolcall"
)

// BenchmarkEdits rebuilds a file of 5,000 lines after 300 edits: from the edits, from the
// hunks of patches, and from the calls of a session.
func BenchmarkEdits(b *testing.B) {
	var text strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&text, "\tline %d has some words in it\n", i)
	}
	content := text.String()
	check := func(f *File) {
		if lineCount(f.Text) != 5_300 || !f.Certain() {
			b.Fatal(f.end())
		}
	}
	b.Run("edits", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var f File
			f.Write(1, content)
			for i := range 300 {
				old := fmt.Sprintf("line %d has some", i*16)
				f.Replace(i+2, old, old+"\n\tmore", false)
			}
			check(&f)
		}
	})
	b.Run("patches", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var f File
			f.Write(1, content)
			for i := range 300 {
				old := fmt.Sprintf("\tline %d has some words in it", i*16)
				f.Patch(i+2, []toolcall.Hunk{{Old: []string{old}, New: []string{old, "\tmore"}}})
			}
			check(&f)
		}
	})
	in, _ := json.Marshal(map[string]string{"file_path": "/app/x.go", "content": content})
	steps := []step{{"Write", string(in), "File created successfully at: /app/x.go"}}
	for i := range 300 {
		old := fmt.Sprintf("line %d has some", i*16)
		steps = append(steps, edit(old, old+"\n\tmore"))
	}
	files := filesOf(steps...)
	b.Run("calls", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(Of(files.from, files.ledger, nil).At(0, 0))
		}
	})
}

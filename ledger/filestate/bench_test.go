package filestate

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkEdits rebuilds a file of 5,000 lines after 300 edits.
func BenchmarkEdits(b *testing.B) {
	var text strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&text, "\tline %d has some words in it\n", i)
	}
	whole := text.String()
	b.ReportAllocs()
	for b.Loop() {
		var f File
		f.Write(1, whole)
		for i := range 300 {
			old := fmt.Sprintf("line %d has some", i*16)
			f.Replace(i+2, old, old+"\n\tmore", false)
		}
		if len(f.Lines()) != 5_300 || !f.Certain() {
			b.Fatal(f.Total())
		}
	}
}

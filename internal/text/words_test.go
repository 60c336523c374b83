package text_test

import (
	"slices"
	"testing"

	"github.com/pleat-dev/pleat/internal/text"
)

func TestWords(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"Don't touch src/legacy, v1.2.", []string{"don't", "touch", "src/legacy", "v1.2"}},
		{"It’s fine — “really” …", []string{"it's", "fine", "really"}},
		{"はい、foo_bar-baz $HOME \xff\x80x", []string{"はい", "foo_bar-baz", "$home", "x"}},
	}
	for _, tt := range tests {
		var got []string
		for _, w := range text.Words(tt.in) {
			if got = append(got, w.Text); len(tt.in[w.Start:w.End]) < len(w.Text) {
				t.Errorf("Words(%q): %q is at %q", tt.in, w.Text, tt.in[w.Start:w.End])
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Words(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

package bench

import (
	"os"
	"slices"
	"testing"
)

func TestChangesOf(t *testing.T) {
	for name, want := range map[string][]change{
		"claude-code": {{"t2", "/w/a.go", Edited}},
		"codex":       {{"k2", "/w/a.go", Edited}, {"k2", "/w/new.go", Created}, {"k2", "/w/old.go", Deleted}},
		"openhands":   {{"t2", "/w/a.c", Edited}},
		"pi-v3":       nil,
	} {
		data, err := os.ReadFile("../../../../sessionlog/testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		if got := changesOf(data); !slices.Equal(got, want) {
			t.Errorf("%s: changes are %v, want %v", name, got, want)
		}
	}
}

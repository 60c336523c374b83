package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/policy"
)

// What an earlier version wrote is read by this one: its store, its export file, its
// policies. See the test of the same name in package pleat.
func TestWrittenBefore(t *testing.T) {
	const before = "../../testdata/written-before"
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(before, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	run := func(store string, args ...string) string {
		t.Helper()
		out, stderr, code := cli(t, store, args...)
		if code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, stderr)
		}
		return out
	}
	dir := t.TempDir()
	store, other := filepath.Join(dir, "store.db"), filepath.Join(dir, "other.db")
	writeTest(t, store, read("store.sqlite"))
	verified := run(store, "store", "verify")
	for _, want := range []string{"3 sessions", "151 entries", "14 folds"} {
		if !strings.Contains(verified, want) {
			t.Errorf("verify: %s, want %s", verified, want)
		}
	}
	exported := string(read("work.jsonl"))
	if run(store, "store", "export", "work") != exported {
		t.Error("the session in the store is exported differently")
	}
	run(other, "store", "import", filepath.Join(before, "work.jsonl"))
	if run(other, "store", "export", "work") != exported {
		t.Error("the imported session is exported differently")
	}
	run(other, "store", "verify")
	policies, err := filepath.Glob(filepath.Join(before, "policies", "*.json"))
	if err != nil || len(policies) != 9 {
		t.Fatalf("policies: %q, %v", policies, err)
	}
	session := filepath.Join(dir, "session.json")
	writeTest(t, session, []byte(`{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("Count. ", 500)+`"}]}`))
	for _, file := range policies {
		run(other, "plan", session, "--policy", file)
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "custom" {
			continue
		}
		was, err := policy.Parse(read("policies/" + name + ".json"))
		if err != nil {
			t.Fatal(err)
		}
		is, err := policy.Parse([]byte(run(other, "policies", name)))
		if slices.Contains([]string{"default", "book", "threshold", "three-layer", "four-lever", "four-layer"}, name) {
			// These have other steps by now; a file keeps its own meaning.
			is.Budget, is.Doc, is.AtRed, is.OnRefusal, is.OnAsk, is.Retries = was.Budget, was.Doc, was.AtRed, was.OnRefusal, was.OnAsk, was.Retries
		}
		if err != nil || !reflect.DeepEqual(is, was) {
			t.Errorf("policy %s means something else now: %v", name, err)
		}
	}
}

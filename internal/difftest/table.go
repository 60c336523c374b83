package difftest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// Table reads the cases of a table test from a file of JSON, a list of objects.
func Table[T any](t testing.TB, path string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var list []T
	if err := d.Decode(&list); err != nil || len(list) == 0 {
		t.Fatalf("read %s: %d cases, %v", path, len(list), err)
	}
	return list
}

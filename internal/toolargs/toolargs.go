// Package toolargs reads the arguments of calls to recall tools. Models are sloppy with them, so it accepts
// what is clear.
package toolargs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Args are the arguments of a call as they came.
type Args map[string]any

// Read reads a call's input. A bare value is the main argument.
func Read(input, main string) Args {
	switch v := readJSON(input).(type) {
	case nil:
		return Args{}
	case map[string]any:
		return v
	default:
		return Args{main: v}
	}
}

// readJSON reads a value with its numbers as they are written. What is no JSON is a string.
func readJSON(input string) (v any) {
	d := json.NewDecoder(strings.NewReader(input))
	if d.UseNumber(); !json.Valid([]byte(input)) || d.Decode(&v) != nil {
		v = strings.TrimSpace(input)
	}
	return v
}

// Text returns an argument as text, whatever its JSON type, the elements of a list separated
// by commas.
func (a Args) Text(name string) string { return strings.Join(a.List(name), ",") }

// List returns an argument as a list. It also accepts a string with a JSON list in it and,
// for kinds and outcomes, names with commas between them.
func (a Args) List(name string) []string {
	switch v := a[name].(type) {
	case nil:
		return nil
	case string:
		if list, ok := readJSON(v).([]any); ok && name == "queries" {
			return Args{"": list}.List("")
		}
		if name == "kind" || name == "outcome" {
			return strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
		}
		if v == "" {
			return nil
		}
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, Args{"": e}.List("")...)
		}
		return out
	default:
		return []string{fmt.Sprint(v)} // a number, a flag
	}
}

// Number returns an argument that is a number, 0 if it is none or negative.
func (a Args) Number(name string) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(a.Text(name)), 64)
	if err != nil || f < 0 || f > 1<<40 {
		return 0
	}
	return int(f)
}

// Flag returns an argument that is true or false, false if it is neither.
func (a Args) Flag(name string) bool {
	on, _ := strconv.ParseBool(strings.ToLower(a.Text(name)))
	return on
}

// Range reads "120-180", "120-", "-180" and "120", also with ":", "," or ".." in
// between. An end of 0 is open.
func Range(s string) (from, to int, err error) {
	s = strings.Trim(strings.TrimSpace(s), "[]()L")
	if s == "" {
		return 0, 0, nil
	}
	s = strings.NewReplacer("..", "-", ":", "-", ",", "-", "–", "-", " ", "", "L", "").Replace(s)
	first, last, ranged := strings.Cut(s, "-")
	if first != "" {
		if from, err = strconv.Atoi(first); err != nil {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	switch {
	case !ranged:
		to = from
	case last != "":
		if to, err = strconv.Atoi(last); err != nil || to < from {
			return 0, 0, fmt.Errorf("%q is no range: write \"120-180\"", s)
		}
	}
	return from, to, nil
}

// Named reads values by their names, in any case.
func Named[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](names []string) ([]T, error) {
	var out []T
	for _, name := range names {
		var v T
		if err := P(&v).UnmarshalText([]byte(strings.ToLower(name))); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

package clientconfig

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/secrets"
)

// Diff shows the keys that change, with what they lose (-) and get (+), and nothing else of the
// file, which may hold keys and passwords. It is empty if nothing changes.
func (e *Edit) Diff() string {
	s, err := syntaxOf(e.Path)
	if e.replaces(e.After) || err != nil && !e.whole {
		return ""
	}
	about := ""
	if e.Before == nil {
		about = " (a new file)"
	} else if e.After == nil {
		about = " (to be deleted)"
	}
	lines := []string{e.Path + about}
	if e.whole {
		for line := range strings.Lines(string(e.After)) {
			lines = append(lines, "+ "+strings.TrimRight(line, "\n"))
		}
		return strings.Join(lines, "\n") + "\n"
	}
	before, _ := s.decode(e.Before) // both were read when the edit was planned
	after, _ := s.decode(e.After)
	for i, st := range e.steps {
		again := func(x step) bool { return slices.Equal(x.Key, st.Key) }
		old, new := get(before, st.Key), get(after, st.Key)
		if st.Key == nil || Same(old, new) || slices.ContainsFunc(e.steps[i+1:], again) {
			continue
		}
		name, set := strings.Join(st.Key, "."), st.Value
		if st.Member {
			set = "[" + set + "]"
		}
		switch {
		case adds(old, new):
			lines = append(lines, "+ "+name+", beside what is there: "+shown(new, old, set))
		case adds(new, old): // as it does when it is taken back
			lines = append(lines, "- "+name+", beside what stays: "+shown(old, new, marshal(old)))
		default:
			if old != nil {
				lines = append(lines, "- "+name+": "+shown(old, nil, set))
			}
			if new != nil {
				lines = append(lines, "+ "+name+": "+shown(new, old, set))
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// adds reports whether a list keeps all that it had and gets more.
func adds(old, new any) bool {
	had, _ := old.([]any)
	has, _ := new.([]any)
	return len(had) > 0 && len(has) > len(had) && len(beyond(had, has)) == 0
}

// beyond are the members of a list that another has not.
func beyond(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list), func(x any) bool {
		return slices.ContainsFunc(other, func(y any) bool { return Same(x, y) })
	})
}

func marshal(v any) string {
	text, _ := json.Marshal(v) // it was decoded from JSON, or can be
	return string(text)
}

// shown is a value as it is shown. Objects and lists may hold anything: of those only what is
// set is shown, without what a list had before. An address may have a password in it.
func shown(v, before any, set string) string {
	list, isList := v.([]any)
	_, isObject := v.(map[string]any)
	whole := marshal(v)
	if had, _ := before.([]any); isList && len(had) > 0 {
		v = beyond(list, had)
	}
	text := marshal(v)
	if (isList || isObject) && !sameValue(whole, set) && !sameValue(text, set) {
		return "…"
	}
	return secrets.Redact(text)
}

// get finds a key in decoded values; nil: it is not there.
func get(values map[string]any, key []string) any {
	var there any = values
	for _, name := range key {
		object, _ := there.(map[string]any)
		there = object[name]
	}
	return there
}

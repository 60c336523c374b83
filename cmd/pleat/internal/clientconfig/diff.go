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
		name := strings.Join(st.Key, ".")
		switch {
		case adds(old, new):
			lines = append(lines, "+ "+name+", beside what is there: "+marshal(beyond(new, old)))
		case adds(new, old): // as it does when it is taken back
			lines = append(lines, "- "+name+", beside what stays: "+marshal(beyond(old, new)))
		default:
			if old != nil {
				lines = append(lines, "- "+name+": "+st.shown(old))
			}
			if new != nil {
				lines = append(lines, "+ "+name+": "+st.shown(new))
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// adds reports whether a list keeps all that it had and gets more.
func adds(old, new any) bool {
	had, _ := old.([]any)
	has, _ := new.([]any)
	return len(had) > 0 && len(has) > len(had) && len(beyond(old, new)) == 0
}

// beyond are the members of a list that another has not.
func beyond(list, other any) []any {
	of, _ := list.([]any)
	than, _ := other.([]any)
	return slices.DeleteFunc(slices.Clone(of), func(x any) bool {
		return slices.ContainsFunc(than, func(y any) bool { return Same(x, y) })
	})
}

func marshal(v any) string {
	text, _ := json.Marshal(v) // it was decoded from JSON, or can be
	return secrets.Redact(string(text))
}

// shown is a value as it is shown. Objects and lists may hold anything: of those only what is
// set is shown. An address may have a password in it.
func (st step) shown(v any) string {
	set, text := st.Value, marshal(v)
	if st.Member {
		set = "[" + set + "]"
	}
	if strings.ContainsAny(text[:1], "[{") && !sameValue(text, set) {
		return "…"
	}
	return text
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

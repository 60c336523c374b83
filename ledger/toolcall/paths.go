package toolcall

import (
	"path"
	"strings"
)

// CleanPath gives a spelling one form, for comparison only.
func CleanPath(p string) string {
	p = strings.TrimPrefix(p, "file://")
	return path.Clean(strings.ReplaceAll(p, `\`, "/"))
}

// IsAbs reports whether a cleaned path is absolute, begins in a home directory, or has a
// drive letter.
func IsAbs(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 2 && p[1] == ':' && p[2] == '/'
}

// SameFile reports whether two spellings can mean one file: they are equal, or the one
// that is relative ends the other, element by element.
func SameFile(a, b string) bool {
	a, b = CleanPath(a), CleanPath(b)
	if IsAbs(b) {
		a, b = b, a
	}
	return a == b || IsAbs(a) && !IsAbs(b) && EndsPath(a, b)
}

// EndsPath reports whether the elements of end are the last ones of p.
func EndsPath(p, end string) bool {
	rest, ok := strings.CutSuffix(p, end)
	return ok && end != "." && (rest == "" || strings.HasSuffix(rest, "/"))
}

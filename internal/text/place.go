package text

import "strings"

// Place is the name of a folder for people: the last two parts of its path.
func Place(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return strings.Join(parts[max(len(parts)-2, 0):], "/")
}

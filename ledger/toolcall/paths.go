package toolcall

import (
	"path"
	"strings"
)

// CleanPath gives all spellings of a path one form, for comparison only: C:\x, C:/x, /c/x,
// /mnt/c/x, /cygdrive/c/x, \\?\C:\x and file:///C:/x are c:/x, in lower case because
// Windows does not tell cases apart.
func CleanPath(p string) string {
	p = strings.TrimPrefix(strings.Trim(p, `"'`), "file://")
	p = strings.ReplaceAll(p, `\`, "/")
	p = strings.TrimPrefix(strings.TrimPrefix(p, "//?/UNC"), "//?")
	for _, wsl := range []string{"//wsl$/", "//wsl.localhost/"} {
		if inner, ok := strings.CutPrefix(p, wsl); ok {
			_, inner, _ = strings.Cut(inner, "/") // the name of the distribution
			p = "/" + inner
		}
	}
	p = path.Clean(p)
	rest := strings.TrimPrefix(strings.TrimPrefix(p, "/mnt/"), "/cygdrive/")
	switch rooted := rest != p; {
	case rooted && driveThen(rest, "/"), driveThen(strings.TrimPrefix(p, "/"), ":"):
	case strings.HasPrefix(p, "/") && driveThen(p[1:], "/"):
		rest = p[1:]
	default:
		return p
	}
	rest = strings.TrimPrefix(rest, "/")
	return strings.ToLower(rest[:1] + ":" + strings.TrimPrefix(rest[1:], ":"))
}

// driveThen reports whether s is a drive letter and then mark, or nothing more.
func driveThen(s, mark string) bool {
	if s == "" || !('a' <= s[0]|0x20 && s[0]|0x20 <= 'z') {
		return false
	}
	return mark == "/" && len(s) == 1 || strings.HasPrefix(s[1:], mark)
}

// IsAbs reports whether a cleaned path is absolute, begins in a home directory, or has a
// drive letter.
func IsAbs(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || hasDrive(p)
}

func hasDrive(p string) bool { return len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] == '/') }

// Join is the cleaned path that a call in dir means by p. It is relative if dir is.
func Join(dir, p string) string {
	if p = CleanPath(p); dir == "" || IsAbs(p) {
		return p
	}
	return CleanPath(CleanPath(dir) + "/" + p)
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
	if hasDrive(p) {
		end = strings.ToLower(end)
	}
	rest, ok := strings.CutSuffix(p, end)
	return ok && end != "." && (rest == "" || strings.HasSuffix(rest, "/"))
}

package model

import (
	"strings"
)

// isPicture knows PNG, JPEG, GIF and RIFF by the base64 of their first bytes.
func IsPicture(data string) bool {
	for _, magic := range [...]string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"} {
		if strings.HasPrefix(data, magic) {
			return true
		}
	}
	return false
}

func DataURL(s string) string {
	if strings.HasPrefix(s, "data:") {
		if _, data, ok := strings.Cut(s[:min(len(s), 256)], ";base64,"); ok {
			return s[len(s[:min(len(s), 256)])-len(data):]
		}
	}
	return s
}

var base64Bytes = func() (set [256]bool) {
	for _, b := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\") {
		set[b] = true // the backslash because some encoders write \/
	}
	return set
}()

func IsBase64(s string) bool {
	for i := range len(s) {
		if !base64Bytes[s[i]] {
			return false
		}
	}
	return true
}

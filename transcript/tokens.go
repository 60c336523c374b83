package transcript

import (
	"unsafe"
)

// stringBytes views a string as bytes that must not be changed.
func StringBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

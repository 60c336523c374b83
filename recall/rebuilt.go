package recall

import (
	"fmt"
)

// PathPrefix begins what stands for a file instead of a handle: "path:src/x.go" is the file
// as it stands, "path:src/x.go@31" as it was after call 31.
const PathPrefix = "path:"

// FileState says how much of a file is known. It was rebuilt from what the calls of the
// session read, wrote and edited.
type FileState struct {
	Path    string `json:"path"`
	Call    int    `json:"call"`    // newest call that showed it, or changed it in a way that could be followed
	Certain bool   `json:"certain"` // the file surely has these lines and no others
	Deleted bool   `json:"deleted,omitempty"`
	Since   int    `json:"since,omitempty"` // the call after which it is not certain any more; 0: none
	Why     string `json:"why,omitempty"`   // what may have changed it then
}

// certainty says what is known of a file, if one was asked for, after what it is.
func (f *FileState) certainty() string {
	switch {
	case f == nil:
		return ""
	case f.Deleted:
		return ", deleted"
	case f.Since > 0:
		return fmt.Sprintf(", not certain since call %d: %s", f.Since, f.Why)
	default:
		return ", certain"
	}
}

package recall

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/filestate"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
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

// namesFile reports whether a request is for a file, and for which.
func namesFile(handle string) (spec string, ok bool) {
	return strings.CutPrefix(strings.Trim(handle, " \t\r\n\"'`"), PathPrefix)
}

func (f *Finder) file(spec string, r UnfoldRequest) (Unfolded, error) {
	name, call := spec, 0
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		if n, err := strconv.Atoi(strings.TrimPrefix(spec[i+1:], "#")); err == nil && n > 0 {
			name, call = spec[:i], n
		}
	}
	if call > f.Ledger().Len() {
		return Unfolded{}, fmt.Errorf("there is no call %d: the newest is %d: %w", call, f.Ledger().Len(), store.ErrNotFound)
	}
	files := filestate.Of(blocks{f}, f.Ledger(), f.spoken())
	id, err := fileNamed(files, name)
	if err != nil {
		return Unfolded{}, err
	}
	state := files.At(id, call)
	u := Unfolded{text: state.Content()}
	u.Handle, u.Call, u.What = PathPrefix+files.Name(id), state.Seen, "file as rebuilt"
	u.File = &FileState{
		Path: files.Name(id), Call: state.Seen, Certain: state.Certain(), Deleted: state.Gone,
		Since: state.Doubt.Call, Why: state.Doubt.Why,
	}
	if call > 0 {
		u.Handle += "@" + strconv.Itoa(call)
	}
	if u.Call > 0 {
		at := f.Ledger().Entry(u.Call).Call.Message
		u.Message, u.Turn = at+1, turnOf(f.Facts(), at)
	}
	switch {
	case r.Diff:
		u.text, u.What, u.File = files.Changes(id, call), "what calls changed, one by one", nil
	case !state.Whole && !state.Gone:
		return Unfolded{}, fmt.Errorf("no call showed all that is in %s; "+
			"ledger(path=%[1]q) lists those that touched it: %w", files.Name(id), store.ErrNotFound)
	}
	r.Handle, u.exact, u.Bytes, u.Lines = u.Handle, u.text, len(u.text), text.LineCount(u.text)
	u.Hash = transcript.HashOf(u.exact)
	return u, u.choose(r, f.Call, f.Tokens().CountText)
}

// spoken are the messages in which people spoke.
func (f *Finder) spoken() (out []int) {
	for i := range f.Facts() {
		if f.Facts()[i].Typed {
			out = append(out, i)
		}
	}
	return out
}

func fileNamed(files *filestate.Files, name string) (int, error) {
	ids := files.Find(name)
	if len(ids) == 1 {
		return ids[0], nil
	}
	if len(ids) == 0 {
		ids = files.Find(path.Base(toolcall.CleanPath(name)))
	}
	hint := "ledger(files=true) names the changed files"
	if len(ids) > 0 {
		hint = "did you mean " + files.Name(ids[0]) + "?"
	}
	return 0, fmt.Errorf("no call of this session names the file %s, or several end like that (%s): %w",
		name, hint, store.ErrNotFound)
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

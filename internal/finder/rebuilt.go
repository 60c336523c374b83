package finder

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/recall"

	"github.com/pleat-dev/pleat/internal/filestate"
	"github.com/pleat-dev/pleat/ledger/toolcall"
	"github.com/pleat-dev/pleat/store"
)

func (f *Finder) file(spec string, r recall.UnfoldRequest) (recall.Unfolded, error) {
	name, call := spec, 0
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		if n, err := strconv.Atoi(strings.TrimPrefix(spec[i+1:], "#")); err == nil && n > 0 {
			name, call = spec[:i], n
		}
	}
	if call > f.Ledger().Len() {
		return recall.Unfolded{}, fmt.Errorf("there is no call %d: the newest is %d: %w", call, f.Ledger().Len(), store.ErrNotFound)
	}
	files := filestate.Of(f.read, f.Ledger(), f.spoken())
	id, err := fileNamed(files, name)
	if err != nil {
		return recall.Unfolded{}, err
	}
	state := files.At(id, call)
	u := recall.Unfolded{Whole: state.Content()}
	u.Handle, u.Call, u.What = recall.PathPrefix+files.Name(id), state.Seen, "file as rebuilt"
	u.File = &recall.FileState{
		Path: files.Name(id), Call: state.Seen, Certain: state.Certain(), Deleted: state.Gone,
		Since: state.Doubt.Call, Why: state.Doubt.Why,
	}
	if call > 0 {
		u.Handle += "@" + strconv.Itoa(call)
	}
	if u.Call > 0 {
		at := f.Ledger().Entry(u.Call).Call.Message
		u.Message, u.Turn = at+1, f.turnOf(at)
	}
	switch {
	case r.Diff:
		u.Whole, u.What, u.File = files.Changes(id, call), "what calls changed, one by one", nil
	case !state.Whole && !state.Gone:
		return recall.Unfolded{}, fmt.Errorf("no call showed all that is in %s; "+
			"ledger(path=%[1]q) lists those that touched it: %w", files.Name(id), store.ErrNotFound)
	}
	r.Handle = u.Handle
	return u, f.show(&u, u.Whole, r)
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

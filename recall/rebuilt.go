package recall

import (
	"errors"
	"fmt"
	"path"
	"slices"
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
	Whole   bool   `json:"whole"`   // every line is known, certain or not
	Deleted bool   `json:"deleted,omitempty"`
	// Doubts are calls after which lines are no longer certain, and why.
	Doubts []Doubt `json:"doubts,omitempty"`
}

// Doubt is a call after which lines of a file are no longer certain.
type Doubt struct {
	Call int    `json:"call"` // its number in the ledger
	Why  string `json:"why"`
}

// lineUncertain is the state of a line of a file that was so and may have changed.
const lineUncertain = "uncertain"

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
		return Unfolded{}, fmt.Errorf("there is no call %d: the newest is %d", call, f.Ledger().Len())
	}
	files := filestate.Of(blocks{f}, f.Ledger(), f.spoken())
	id, err := f.fileNamed(files, name)
	if err != nil {
		return Unfolded{}, err
	}
	state := files.At(id, call)
	u := Unfolded{File: &FileState{
		Path: files.Name(id), Call: state.Seen(), Certain: state.Certain(), Whole: state.Whole(),
		Deleted: state.Gone(),
	}}
	for _, d := range state.Doubts() {
		u.File.Doubts = append(u.File.Doubts, Doubt{Call: d.Call, Why: d.Why})
	}
	r.Handle = PathPrefix + files.Name(id)
	if call > 0 {
		r.Handle += "@" + strconv.Itoa(call)
	}
	u.Handle, u.Call = r.Handle, state.Seen()
	if u.Call > 0 {
		at := f.Ledger().Entry(u.Call).Call.Message
		u.Message, u.Turn = at+1, turnOf(f.Facts(), at)
	}
	switch {
	case r.Diff:
		u.exact, u.What = files.Changes(id, call)
		u.text = u.exact
	case len(state.Lines()) == 0 && !state.Whole() && !state.Gone():
		return Unfolded{}, fmt.Errorf("no call showed what is in %s; "+
			"ledger(path=%[1]q) lists those that touched it", files.Name(id))
	default:
		u.known(state)
	}
	if (r.Offset > 0 || r.Length > 0) && !u.File.Whole {
		return Unfolded{}, errors.New("bytes cannot be counted in a file that is not wholly known; ask for lines")
	}
	u.Hash = transcript.HashOf(u.exact)
	return u, u.choose(r, f.Call, f.Tokens().CountText)
}

// spoken are the messages in which people spoke, after the first call.
func (f *Finder) spoken() []int {
	var out []int
	for i := range f.Facts() {
		if f.Facts()[i].Typed {
			out = append(out, i)
		}
	}
	return out
}

func (f *Finder) fileNamed(files *filestate.Files, name string) (int, error) {
	ids := files.Find(name)
	if len(ids) == 1 {
		return ids[0], nil
	}
	hint := "ledger(files=true) names the changed files"
	list := ids
	if len(ids) == 0 {
		list = files.Find(path.Base(toolcall.CleanPath(name)))
	}
	var names []string
	for _, id := range list[:min(len(list), 5)] {
		names = append(names, files.Name(id))
	}
	if len(names) > 0 {
		hint = "did you mean " + strings.Join(names, " or ") + "?"
	}
	if len(ids) > 1 {
		return 0, fmt.Errorf("%d files end like that (%s)", len(ids), hint)
	}
	return 0, fmt.Errorf("no call of this session names the file %s (%s): %w", name, hint, store.ErrNotFound)
}

// known takes over the known lines of a file with their numbers.
func (u *Unfolded) known(state *filestate.File) {
	var b strings.Builder
	lines := state.Lines()
	for i, l := range lines {
		doubt := ""
		if !l.Certain {
			doubt = lineUncertain
		}
		u.states = append(u.states, doubt)
		u.numbers = append(u.numbers, l.Number)
		b.WriteString(l.Text)
		if i < len(lines)-1 || !state.Whole() || strings.HasSuffix(state.Content(), "\n") {
			b.WriteByte('\n')
		}
	}
	u.text, u.exact = b.String(), b.String()
	u.Lines, u.Bytes = len(lines), b.Len()
	u.What = "file as rebuilt"
}

func (u *Unfolded) fileText() string {
	f, lines := u.File, u.Shown
	var b strings.Builder
	fmt.Fprintf(&b, "%sunfold %s: %s", mark, u.Handle, u.What)
	switch {
	case f.Deleted:
		fmt.Fprintf(&b, ", deleted by call %d", f.Call)
	case f.Certain:
		fmt.Fprintf(&b, ", %s, certain as of call %d", text.Plural(u.Lines, "line"), f.Call)
	case u.states != nil:
		sure := 0
		for _, s := range u.states {
			if s == "" {
				sure++
			}
		}
		if sure == 0 { // then a mark at each line tells nothing
			fmt.Fprintf(&b, ", %s known, none certain any more, last seen in call %d", text.Plural(u.Lines, "line"), f.Call)
			lines = slices.Clone(lines)
			for i := range lines {
				lines[i].State = ""
			}
			break
		}
		fmt.Fprintf(&b, ", %d certain of %s known, last seen in call %d; \"?\" marks what is not certain",
			sure, text.Plural(u.Lines, "line"), f.Call)
	}
	b.WriteString("]\n" + renderLines(lines))
	var notes []string
	for _, d := range f.Doubts {
		notes = append(notes, fmt.Sprintf("uncertain since call %d: %s", d.Call, d.Why))
	}
	if !f.Whole && !f.Deleted && u.states != nil {
		notes = append(notes, "lines left out, and any after the last, are not known")
	}
	return b.String() + noteLine(notes) + u.footer()
}

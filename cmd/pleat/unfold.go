package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/sessionfile"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/toolargs"
	"github.com/pleat-dev/pleat/recall"
	"github.com/pleat-dev/pleat/store"
)

type unfoldFlags struct {
	*stores.Flags
	req                recall.UnfoldRequest
	in, session, lines string
	numbered, json     bool
}

func unfoldCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "unfold HANDLE|CALL|mMESSAGE|path:FILE[@CALL]",
		Args:  takes(1, 1, "a handle, a call's number, or path:FILE"),
		Short: "print something folded in full",
		Long: `Prints what a handle stands for: a result as it was; the input of a call as the command, the
diff or the file that it is; turns as text. --exact prints the original bytes. Stubs and search
hits have handles. 12 is call 12 of the ledger: what it changed in a file, or else its result.
m12 is message 12: all of it, or its longest part. The content is checked against the hash it was
folded under.

path:FILE is a file as the session left it, rebuilt from what its calls read, wrote and
edited; with @CALL, as it was after that call. If it is certain, the output is the file. If
not, a heading says since when and why. --diff shows what calls changed
in it, one by one.

Looks in every session of the store unless --session names one, or with --in in a session
file. Sessions that share the beginning of a conversation share its handles. If they have
different content under a handle, --session must name one.

The output has nothing else, so that it can be piped and compared. What --exact prints has the
sha256 and size in "compact --json"; --raw prints the JSON of the wire. With --grep, only the
part around the match is shown of lines longer than 1,000 bytes.`,
		Example: `# the original of a stub that says unfold("t3nk5x0b")
pleat unfold t3nk5x0b
# a part of it
pleat unfold t3nk5x0b --lines 40:80
# lines with errors, with line numbers and three lines around each
pleat unfold t3nk5x0b --grep '(?i)error' --around 3 --numbered
# what call 12 of a session file did
pleat unfold 12 --in session.jsonl
# a file as a session left it, and what the session changed in it
pleat unfold path:src/limit.go --session work
pleat unfold path:src/limit.go --session work --diff`,
	}
	fs := c.Flags()
	f := &unfoldFlags{Flags: stores.Declare(fs)}
	fs.StringVar(&f.in, "in", "", "look in this session `FILE` instead, or a session's name, last or -")
	fs.StringVar(&f.session, "session", "", "look only in this `SESSION`: its name, the beginning of it, or last")
	fs.StringVar(&f.lines, "lines", "", "only lines `A:B`, counted from 1, B included; A: and :B and A work too")
	fs.StringVar(&f.req.Pattern, "grep", "", "only lines that match the regular expression `RE`")
	fs.IntVar(&f.req.Around, "around", 0, "with --grep: also `N` lines before and after each")
	fs.BoolVar(&f.req.Raw, "raw", false, "the JSON of the wire it came from, or its neutral form, instead of the text")
	fs.BoolVar(&f.req.Exact, "exact", false, "the original bytes, from which the sha256 of a fold is computed")
	fs.BoolVar(&f.numbered, "numbered", false, "with a heading that says what it is, and line numbers")
	fs.BoolVar(&f.req.Diff, "diff", false, "of a file: what the session changed in it, up to @CALL")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	c.RunE = runs(p, f.run)
	return c
}

func (f *unfoldFlags) run(ctx context.Context, p *term.Console, args []string) error {
	f.req.Handle = args[0]
	if err := f.check(); err != nil {
		return term.UsageError("unfold: " + err.Error())
	}
	var one library.Info // to look in; zero: it is not known
	if f.in != "" {
		var err error
		if one, err = sessionfile.Find(ctx, p, f.Flags, f.in); err != nil {
			return err
		}
		if one.File != "" {
			return f.inFile(ctx, p, one)
		}
	}
	store, _, err := stores.OpenAs(ctx, p, f.Flags, stores.ReadOnly)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := f.find(ctx, p, store, one)
	if err != nil {
		return err
	}
	return f.print(p, found)
}

func (f *unfoldFlags) inFile(ctx context.Context, p *term.Console, info library.Info) error {
	s, _, err := sessionIn(ctx, p, info, sessionfile.Flags{})
	if err != nil {
		return err
	}
	u, err := s.Unfold(ctx, f.req)
	if err != nil {
		return nothingThere(err, f.req, `: find one with "pleat search WORDS --in FILE"; longer stretches have `+
			`handles after "pleat compact FILE"`)
	}
	return f.print(p, unfoldedJSON{Sessions: []string{f.in}, Unfolded: u})
}

// unfoldedJSON is what "pleat unfold --json" prints: the content of a handle, and the sessions that have it.
// Content that is not UTF-8 is in base64, because JSON cannot hold it.
type unfoldedJSON struct {
	Format   string   `json:"format"`
	Sessions []string `json:"sessions"`
	recall.Unfolded
	Content *string `json:"content,omitempty"`
	Base64  []byte  `json:"base64,omitempty"`
}

// check completes the request and says what is wrong with it.
func (f *unfoldFlags) check() error {
	r := &f.req
	if isFile := strings.HasPrefix(r.Handle, recall.PathPrefix); r.Diff && !isFile || r.Raw && isFile {
		return errors.New("--diff goes with path:FILE, --raw with a handle")
	}
	if r.Raw && r.Exact {
		return errors.New("--raw and --exact cannot be used together")
	}
	if f.in != "" && f.session != "" {
		return errors.New("--in and --session cannot be used together")
	}
	if r.Around < 0 || r.Around > 0 && r.Pattern == "" {
		return errors.New("--around is a number of lines, and goes with --grep")
	}
	if r.Around == 0 {
		r.Around = -1 // none; the engine takes 0 for its default
	}
	if _, err := regexp.Compile(r.Pattern); err != nil {
		return fmt.Errorf("--grep: %w", err)
	}
	var err error
	if r.From, r.To, err = toolargs.Range(f.lines); err != nil || strings.HasPrefix(f.lines, "0") {
		return fmt.Errorf("--lines %s: want A:B with numbers; lines count from 1, and A must not be greater than B", f.lines)
	}
	return nil
}

// find looks for a handle in the sessions of the store. Records of folds name their
// handles, so sessions that folded it are found without opening the others.
func (f *unfoldFlags) find(
	ctx context.Context, p *term.Console, st stores.Store, one library.Info,
) (found unfoldedJSON, err error) {
	var all []store.SessionInfo
	if f.session != "" {
		one, err = stores.Find(ctx, p, st, f.Flags, f.session)
	}
	if f.session == "" && f.in == "" {
		all, err = library.Stored(ctx, st, f.Tenant)
	} else if err == nil { // what it was folded in has handles of its own
		all, err = library.Parts(ctx, st, one.Key)
		all = append([]store.SessionInfo{one.Stored}, all...)
	}
	if err != nil {
		return found, err
	}
	var folded []store.SessionInfo
	var handles []string
	name := strings.ToLower(strings.TrimSpace(f.req.Handle))
	for _, info := range all {
		has, err := handlesIn(ctx, st, info.Key)
		if err != nil {
			return found, err
		}
		if handles = append(handles, has...); slices.Contains(has, name) {
			folded = append(folded, info)
		}
	}
	if len(folded) > 0 {
		all = folded
	}
	found, err = askSessions(ctx, p, st, all, f.req)
	if errors.Is(err, store.ErrNotFound) {
		slices.Sort(handles)
		const hint = `: find one with "pleat search WORDS", or look in an agent's session with --in NAME`
		err = nothingThere(err, f.req, cmp.Or(term.DidYouMean("", name, slices.Compact(handles)), hint))
	}
	return found, err
}

// nothingThere is the error for a handle that nothing has, with a hint. Calls, messages and files have their own.
func nothingThere(err error, req recall.UnfoldRequest, hint string) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if _, number := strconv.Atoi(strings.TrimLeft(req.Handle, "#m")); number == nil ||
		strings.HasPrefix(req.Handle, recall.PathPrefix) {
		return errors.New(strings.TrimSuffix(err.Error(), ": "+store.ErrNotFound.Error())) // it says so already
	}
	return fmt.Errorf("no such handle %q%s", req.Handle, hint)
}

// handlesIn lists the handles in the records of a session's folds.
func handlesIn(ctx context.Context, st store.Store, key store.SessionKey) (list []string, err error) {
	for e, err := range st.Scan(ctx, key, 1, store.EntryFold, store.EntryEpoch) {
		if err != nil {
			return nil, fmt.Errorf(`look for folds in session %s: %w ("pleat store verify" lists what is damaged)`,
				key, err)
		}
		for _, m := range handleMember.FindAllSubmatch(e.Data, -1) {
			list = append(list, string(m[1]))
		}
	}
	return list, nil
}

var handleMember = regexp.MustCompile(`"handle":"([a-z0-9]+)"`)

// askSessions unfolds the handle in every session of the list that has it. All must have
// the same content under it.
func askSessions(
	ctx context.Context, p *term.Console, st store.Store, list []store.SessionInfo, req recall.UnfoldRequest,
) (found unfoldedJSON, err error) {
	var missing, broken error
	tell := p.Progress()
	defer tell.Done()
	differ := false
	known := library.NamesOf(list)
	var names []string
	for i, info := range list {
		tell.Share(i, len(list), "looking in sessions")
		s, err := pleat.OpenSession(ctx, st, info.Key, library.Roughly())
		var u recall.Unfolded
		if err == nil {
			u, err = s.Unfold(ctx, req)
		}
		switch {
		case ctx.Err() != nil:
			return found, ctx.Err()
		case errors.Is(err, store.ErrNotFound):
			missing = err
			continue
		case errors.Is(err, store.ErrCorrupt):
			broken = fmt.Errorf(`unfold %q in session %s: %w ("pleat store verify" lists what is damaged)`, req.Handle,
				info.Key, store.ErrCorrupt)
			continue
		case err != nil:
			broken = fmt.Errorf("session %s: %w", info.Key, err)
			continue
		case len(found.Sessions) == 0:
			found.Unfolded = u
		case u.Hash != found.Hash:
			differ = true
		}
		found.Sessions, names = append(found.Sessions, info.Key.Session), append(names, known.Full(info.Key))
	}
	switch {
	case differ:
		return found, fmt.Errorf("several sessions have different content under the handle %q: %s (choose one with "+
			"--session)", req.Handle, strings.Join(names, ", "))
	case len(found.Sessions) > 0:
		return found, nil
	case broken != nil:
		return found, broken
	case len(list) == 1:
		return found, missing
	}
	return found, fmt.Errorf("unfold %q: nothing in the store has it: %w", req.Handle, store.ErrNotFound)
}

func (f *unfoldFlags) print(p *term.Console, u unfoldedJSON) error {
	w := p.Contents()
	if f.req.Pattern != "" && u.Matches == 0 && !f.json {
		return fmt.Errorf("no line of %s matches %q", u.Handle, f.req.Pattern)
	}
	content := u.Unfolded.Content()
	var err error
	switch {
	case f.json:
		u.Format = "pleat/unfold/1"
		if utf8.ValidString(content) {
			u.Content = &content
		} else {
			u.Base64 = []byte(content)
		}
		err = term.WriteJSON(w, u)
	case f.numbered || u.File != nil && !u.File.Certain:
		_, err = fmt.Fprintln(w, strings.TrimRight(u.Text(), "\n"))
	case f.req.Pattern != "":
		for _, l := range u.Shown {
			if _, err = fmt.Fprintln(w, l.Text); err != nil {
				break
			}
		}
	default:
		if w != p.Stdout && !strings.HasSuffix(content, "\n") {
			content += "\n"
		}
		_, err = io.WriteString(w, content)
	}
	return err
}

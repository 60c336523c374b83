// Package sessionfile reads a session from a file, says what is in it, folds it and writes what
// is left: what is behind show, compact and browse.
package sessionfile

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
	"github.com/spf13/pflag"
)

// Flags are the flags of every command that reads a session file.
type Flags struct {
	Strict     bool
	sidechains bool
	Session    string // the number of the session in the file; "": 1
	Model      string
	Store      *stores.Flags // where a session is looked for that no file has; nil: in the user's store
}

// Declare declares the flags.
func (f *Flags) Declare(fs *pflag.FlagSet) {
	fs.BoolVar(&f.Strict, "strict", false, "a damaged line is an error; otherwise it is reported and skipped")
	fs.BoolVar(&f.sidechains, "sidechains", false, "read the messages of sub-agents too, where they are in the file")
	fs.StringVar(&f.Session, "session", "", "which session of a file that holds several, `N` from 1")
	fs.StringVar(&f.Model, "model", "", "count tokens as this `MODEL` does (default: the one the file names)")
}

// Agents are those whose sessions are read, as README names them.
const Agents = "Claude Code, Codex, opencode, Gemini CLI, Copilot CLI, pi, Qwen Code, Goose, Crush, Cline and OpenHands"

// File is a session read from a file.
type File struct {
	Name   string // as it was given
	number int    // which session of the file, from 1
	size   int64
	hash   hash.Hash // of the whole file
	Info   sessionlog.Info
	Count  int                 // of messages
	tally  library.Tally       // of all records, also of those that are no messages
	kept   []sessionlog.Record // all of them; nil if the file is large and has to be read again
	Model  model.Model
	known  bool   // the model is in the table
	home   string // in which a file may be listed

	sidechains bool   // they are messages
	first      prompt // whose size is known
	newest     prompt

	counted string // the name of the model that tokens are counted for

	// Of a stored session: the size of what stands before its messages, and what was used for an
	// answer that it does not have yet, because the client has not sent it back.
	head   fold.Parts
	last   *model.Usage
	view   *seenJSON
	scaled model.Model    // with the provider's count
	Stored *pleat.Session // itself; nil: it is a file's

	log   *sessionlog.Log
	input io.Closer // the file, or the store
}

// prompt is what a provider reported for a request: its tokens, with so many messages and what stands beside them.
type prompt struct{ messages, tokens int }

// asked notes the size of the prompt of a request after all messages until now.
func (f *File) asked(u *model.Usage, messages int) {
	if u == nil || u.Prompt() == 0 {
		return
	}
	if f.newest = (prompt{messages, u.Prompt()}); f.first.tokens == 0 {
		f.first = f.newest
	}
}

// leavesOut reports whether a record is no message of the session.
func (f *File) leavesOut(rec sessionlog.Record) bool {
	return rec.Abandoned || rec.Sidechain && !f.sidechains
}

// keptFile is the size up to which the messages of a file are kept in memory after the
// first reading.
const keptFile = 16 << 20

// maxDamage is how many damaged lines are reported one by one.
const maxDamage = 20

// Read reads the session that [Find] finds.
func Read(ctx context.Context, p *term.Console, name string, flags Flags) (*File, error) {
	info, err := Find(ctx, p, flags.Store, name)
	if err != nil {
		return nil, err
	}
	return ReadFound(ctx, p, info, flags)
}

// ReadFound reads a session file, standard input for "-", or a session of the store: what it is, how many messages
// it has, and the messages themselves unless the file is large. Damaged lines are
// reported on standard error.
func ReadFound(ctx context.Context, p *term.Console, info library.Info, flags Flags) (*File, error) {
	number, err := strconv.Atoi(cmp.Or(flags.Session, "1"))
	if err != nil || number < 1 {
		return nil, term.UsageError("--session counts from 1")
	}
	f := &File{Name: info.File, number: number, hash: sha256.New(), home: p.Home(), sidechains: flags.sidechains}
	if info.File == "" {
		err = f.readStored(ctx, p, flags.Store, info)
	} else {
		err = f.read(ctx, p, flags)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	f.counted = cmp.Or(flags.Model, f.Info.Model)
	f.Model, f.known = model.DefaultModels().Lookup(f.counted)
	if f.Info.Format == stored && flags.Model == "" { // counted as it was when it was made
		f.Model.Tokenizer = library.Info{Model: f.Info.Model}.Look().Model.Tokenizer
		f.asReported(f.scaled)
	}
	if f.kept != nil && f.Stored == nil {
		f.Close() // nothing more is read
	}
	return f, nil
}

func (f *File) read(ctx context.Context, p *term.Console, flags Flags) error {
	in, err := openInput(ctx, p, f.Name)
	if err != nil {
		return err
	}
	f.input = in
	if f.size, err = io.Copy(f.hash, in); err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return f.explain(err)
	}
	skipped, told := 0, false
	f.log, err = sessionlog.Open(in, &sessionlog.Options{
		Session: f.number - 1, Strict: flags.Strict, Sidechains: true, Abandoned: true,
		OnDamage: func(d sessionlog.Damage) {
			if skipped++; skipped <= maxDamage && !flags.Strict && !told {
				p.Note("pleat: %s:%d: skipped: %v\n", f.Name, d.Line, d.Err)
			}
		},
	})
	if err != nil {
		return f.explain(err)
	}
	collectFor(p, f.size)
	tell := p.Progress()
	defer tell.Done()
	placed := 0
	place := func() {
		for all := f.log.Info().Compactions; placed < len(all); placed++ {
			all[placed].At = f.Count // what is left out does not count
		}
	}
	for rec, err := range f.log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return f.explain(err)
		}
		place()
		if f.tally.Add(f.log, rec); f.leavesOut(rec) {
			continue
		}
		f.asked(rec.Usage, f.Count)
		if f.Count++; f.size <= keptFile {
			f.kept = append(f.kept, rec)
		}
		tell.Say("reading %s: %s", f.Name, term.Plural(f.Count, "message"))
	}
	place()
	holdTo(p, f.size, f.Count)
	f.Info = f.log.Info()
	f.Info.Title = f.tally.Title(f.Info) // as lists have it
	if f.tally.End(f.Info); f.Count == 0 {
		return fmt.Errorf("read %s: a %s file without messages", f.Name, f.Info.Format)
	}
	if told = true; skipped > maxDamage && !flags.Strict {
		p.Note("pleat: %s: %d more lines skipped\n", f.Name, skipped-maxDamage)
	}
	return nil
}

// Close closes the file. It may be called more than once.
func (f *File) Close() error {
	f.log = nil
	if f.input == nil {
		return nil
	}
	in := f.input
	f.input = nil
	return in.Close()
}

// Records yields the messages in order. A large file is read again.
func (f *File) Records() iter.Seq2[sessionlog.Record, error] {
	return func(yield func(sessionlog.Record, error) bool) {
		for _, rec := range f.kept {
			if !yield(rec, nil) {
				return
			}
		}
		if f.kept != nil {
			return
		}
		n := 0
		for rec, err := range f.log.Records() {
			if err == nil && f.leavesOut(rec) {
				continue
			}
			if n++; err == nil && n > f.Count {
				err = errors.New("it grew while it was read")
			}
			if err != nil {
				yield(sessionlog.Record{}, f.explain(err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if n < f.Count {
			yield(sessionlog.Record{}, f.explain(errors.New("it changed while it was read")))
		}
	}
}

// explain adds the name of the file to an error, and the line if one is damaged.
func (f *File) explain(err error) error {
	if d, ok := errors.AsType[sessionlog.Damage](err); ok {
		return fmt.Errorf("%s:%d: %w", f.Name, d.Line, d.Err)
	}
	if errors.Is(err, sessionlog.ErrFormat) {
		return fmt.Errorf("read %s: %w (pleat reads request bodies and sessions of %s)", f.Name, err, Agents)
	}
	return fmt.Errorf("read %s: %w", f.Name, err)
}

func openInput(ctx context.Context, p *term.Console, name string) (in io.ReadSeekCloser, err error) {
	if term.Waits(name) { // it cannot be read twice
		var data []byte
		data, err = io.ReadAll(p.Wait(ctx, name))
		in = waited{bytes.NewReader(data)}
	} else {
		in, err = library.OpenFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	return in, nil
}

// waited is input that was waited for.
type waited struct{ *bytes.Reader }

func (waited) Close() error { return nil }

// Key is the name of the session in a store in which the file is folded under a policy. It depends on all
// that decides which messages it has and what is folded at their birth, so that nobody meets other folds.
func (f *File) Key(p fold.Policy) (store.SessionKey, error) {
	policy, err := json.Marshal(p)
	sum := sha256.Sum256(fmt.Appendf(f.hash.Sum(nil), "%d %d %s %s", f.number, f.Count, f.counted, policy))
	hash := hex.EncodeToString(sum[:])
	if of := f.listed(); of.Session != "" {
		return library.CopyOf(of, hash), err
	}
	return store.SessionKey{Session: filePrefix + hash[:16]}, err
}

// listed is the session that it belongs to: a stored one, or that of a file that an agent keeps. It is zero if it is
// none, or one of several in a file.
func (f *File) listed() store.SessionKey {
	switch {
	case f.Stored != nil:
		return f.Stored.Key()
	case f.number > 1:
		return store.SessionKey{}
	}
	lib := library.New(library.Options{Home: f.home})
	defer lib.Close()
	info, _ := lib.Of(f.Name, f.Info)
	return store.SessionKey{Session: info.ID}
}

// filePrefix begins the names of sessions that were made of files which no agent keeps.
const filePrefix = "file:"

// Compacted reports whether a stored session is what "pleat compact" made: no model is shown it.
func Compacted(key store.SessionKey) bool {
	_, copied := library.Copied(key)
	return copied || strings.HasPrefix(key.Session, filePrefix)
}

// AppendTo appends the file's messages, without the first from, to a session in batches.
func (f *File) AppendTo(ctx context.Context, s *pleat.Session, from int, tell *term.Progress) error {
	const most, bytes = 1024, 1 << 20
	batch := make([]transcript.Message, 0, most)
	size, n := 0, 0
	flush := func() error {
		err := s.Append(ctx, batch...)
		if err == nil && f.kept != nil {
			for i := range batch {
				f.kept[n-1-i].Message = transcript.Message{} // the session has it now
			}
		}
		clear(batch)
		batch, size = batch[:0], 0
		return err
	}
	for rec, err := range f.Records() {
		if err != nil {
			return err
		}
		if n++; n <= from {
			continue
		}
		batch = append(batch, rec.Message)
		if size += rec.Message.Weight(); len(batch) == most || size > bytes {
			if err := flush(); err != nil {
				return err
			}
		}
		tell.Share(n, f.Count, "taking in messages")
	}
	return flush()
}

// Options are the options of sessions with this file's messages.
func (f *File) Options() pleat.Options {
	return pleat.Options{
		Model: f.Model, System: f.Info.System, Tools: f.Info.Tools, Codecs: library.Codecs(),
		Recall: func(handle string) string { return "pleat unfold " + handle },
	}
}

// Source identifies the session that a JSON object is about.
type Source struct {
	File    string `json:"file"`
	Format  string `json:"format"` // of the file
	Agent   string `json:"agent,omitempty"`
	Version string `json:"version,omitempty"`
	ID      string `json:"id,omitempty"`
	Parent  string `json:"parent,omitempty"` // the session whose sub-agent it is of
	Title   string `json:"title,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Model   string `json:"model,omitempty"`
	Damaged int    `json:"damaged_lines"`
}

// Source identifies this session.
func (f *File) Source() Source {
	i := f.Info
	return Source{
		File: f.Name, Format: string(i.Format), Agent: i.Agent, Version: i.Version, ID: i.SessionID,
		Parent: cmp.Or(library.ParentOf(i.SessionID), i.Parent), Title: i.Title, Dir: i.Dir, Model: i.Model, Damaged: i.Damaged,
	}
}

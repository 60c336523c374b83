package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/sessionlog"
)

// sourceFlags are the flags of every command that reads a session file.
type sourceFlags struct {
	strict     bool
	sidechains bool
	number     int
	model      string
}

func (f *sourceFlags) declare(fs *flag.FlagSet) {
	fs.BoolVar(&f.strict, "strict", false, "a damaged line is an error; otherwise it is reported and skipped")
	fs.BoolVar(&f.sidechains, "sidechains", false, "read the messages of sub-agents too, where they are in the file")
	fs.IntVar(&f.number, "session", 1, "which session of a file that holds several, `N` from 1")
	fs.StringVar(&f.model, "model", "", "count tokens as this `MODEL` does (default: the one the file names)")
}

// sessionFile is a session that was read from a file.
type sessionFile struct {
	name   string // as it was given
	number int    // which session of the file, from 1
	size   int64
	hash   pleat.Hash   // of the whole file
	sum    func() error // finds the hash
	info   sessionlog.Info
	count  int                 // of messages
	kept   []sessionlog.Record // all of them, unless the file is large: then it is read again
	ahead  *ahead              // the file is still being read: the rest comes from here; nil: it was read
	model  pleat.Model
	known  bool // the model is in the table

	log     *sessionlog.Log
	input   io.Closer
	flags   sourceFlags
	stderr  io.Writer
	skipped int  // damaged lines
	told    bool // they were reported
}

// keptFile is the size up to which a file's messages are kept in memory between reading
// what it is and doing something with it.
const keptFile = 16 << 20

// How much garbage there may be beside what is in use, in per cent: much while that is
// little, because commands are short; little where a session is large.
const (
	usualGC = 400
	largeGC = 40
)

// readSession reads a session file, "-" being standard input. Damage is told on standard
// error, line by line.
func (p *program) readSession(ctx context.Context, name string, flags sourceFlags) (*sessionFile, error) {
	f, err := p.openSession(name, flags)
	if err != nil {
		return nil, err
	}
	return f.readAll(ctx, p)
}

// readSessionAhead is readSession for a command that can begin before the file is read, if
// it is not too large. Then messages come from [sessionFile.records], and all else is known
// after the last of them.
func (p *program) readSessionAhead(ctx context.Context, name string, flags sourceFlags) (*sessionFile, error) {
	f, err := p.openSession(name, flags)
	if err != nil {
		return nil, err
	}
	if f.size > aheadFile {
		return f.readAll(ctx, p)
	}
	f.readAhead(ctx)
	return f, nil
}

func (f *sessionFile) readAll(ctx context.Context, p *program) (*sessionFile, error) {
	err := f.sum()
	if err == nil {
		err = f.take(ctx, p)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	f.setModel(f.info.Model)
	if f.kept != nil {
		f.Close() // nothing more is read
	}
	return f, nil
}

// setModel takes the model that the user named, else the file's.
func (f *sessionFile) setModel(name string) {
	if f.flags.model != "" {
		name = f.flags.model
	}
	f.model, f.known = pleat.DefaultModels().Lookup(name)
}

// openSession opens a session file and finds out what it is.
func (p *program) openSession(name string, flags sourceFlags) (*sessionFile, error) {
	if flags.number < 1 {
		return nil, usageError{"--session counts from 1"}
	}
	f := &sessionFile{name: name, number: flags.number, flags: flags, stderr: p.stderr}
	in, err := p.openInput(name)
	if err != nil {
		return nil, err
	}
	f.input = in
	if err := f.open(in); err != nil {
		f.Close()
		return nil, err
	}
	p.collectFor(f.size)
	return f, nil
}

func (f *sessionFile) open(in io.Reader) error {
	src, err := f.hashed(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.name, err)
	}
	f.log, err = sessionlog.Open(src, &sessionlog.Options{
		Session: f.flags.number - 1, Strict: f.flags.strict, Sidechains: f.flags.sidechains,
		OnDamage: func(d sessionlog.Damage) {
			if f.skipped++; f.skipped <= maxDamage && !f.flags.strict && !f.told {
				fmt.Fprintf(f.stderr, "pleat: %s:%d: skipped: %v\n", f.name, d.Line, d.Err)
			}
		},
	})
	if err != nil {
		return f.explain(err)
	}
	return nil
}

// collectFor sets garbage collection up for a session of so many bytes, unless the user did.
func (p *program) collectFor(size int64) {
	switch {
	case p.getenv("GOGC") != "":
	case size > keptFile:
		debug.SetGCPercent(largeGC)
	default:
		debug.SetGCPercent(usualGC)
	}
}

// Close lets go of the file. It can be called again.
func (f *sessionFile) Close() error {
	var err error
	if f.ahead != nil {
		f.ahead.join()
		f.ahead = nil
	}
	if f.log != nil {
		err = f.log.Close()
		f.log = nil
	}
	if f.input != nil {
		err = errors.Join(err, f.input.Close())
		f.input = nil
	}
	return err
}

// maxDamage is how many damaged lines are told one by one.
const maxDamage = 20

// take reads the file through once: what it is, how many messages it has, and the messages
// themselves if they are few.
func (f *sessionFile) take(ctx context.Context, p *program) error {
	tell := p.progress()
	defer tell.done()
	for rec, err := range f.log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return f.explain(err)
		}
		if f.count++; f.size <= keptFile {
			f.kept = append(f.kept, rec)
		}
		tell.say("reading %s: %s", f.name, plural(f.count, "message"))
	}
	p.holdTo(f.size, f.count)
	return f.wasRead()
}

// wasRead takes what is known of the file when all of it was read.
func (f *sessionFile) wasRead() error {
	f.info = f.log.Info()
	if f.count == 0 {
		return fmt.Errorf("read %s: a %s file without messages", f.name, f.info.Format)
	}
	if f.told = true; f.skipped > maxDamage && !f.flags.strict {
		fmt.Fprintf(f.stderr, "pleat: %s: %d more lines skipped\n", f.name, f.skipped-maxDamage)
	}
	return nil
}

// records yields the messages in order. A large file is read again.
func (f *sessionFile) records() iter.Seq2[sessionlog.Record, error] {
	if f.ahead != nil {
		return f.coming
	}
	return func(yield func(sessionlog.Record, error) bool) {
		if f.kept != nil {
			for _, rec := range f.kept {
				if !yield(rec, nil) {
					return
				}
			}
			return
		}
		n := 0
		for rec, err := range f.log.Records() {
			if n++; err == nil && n > f.count {
				err = errors.New("it has grown while it was read")
			}
			if err != nil {
				yield(sessionlog.Record{}, f.explain(err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if n < f.count {
			yield(sessionlog.Record{}, f.explain(errors.New("it was changed while it was read")))
		}
	}
}

// explain names the file, and the line where one is at fault.
func (f *sessionFile) explain(err error) error {
	if d, ok := errors.AsType[sessionlog.Damage](err); ok {
		return fmt.Errorf("%s:%d: %w", f.name, d.Line, d.Err)
	}
	if errors.Is(err, sessionlog.ErrFormat) {
		return fmt.Errorf("read %s: %w (pleat reads Claude Code, Codex, opencode exports, Gemini CLI, Copilot CLI, pi, request bodies and trajectories)", f.name, err)
	}
	return fmt.Errorf("read %s: %w", f.name, err)
}

func (p *program) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(p.stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("read session: %s is a folder; name a session file in it, or run \"pleat sessions\"", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// hashed prepares hashing what is read. A file is hashed by itself; what cannot be read
// twice is hashed on its way to the reader, which takes all of it when it is opened.
func (f *sessionFile) hashed(in io.Reader) (io.Reader, error) {
	if file, ok := in.(*os.File); ok {
		if at, err := file.Seek(0, io.SeekCurrent); err == nil {
			return file, f.hashedFile(file, at)
		}
	}
	sum := sha256.New()
	f.sum = func() error {
		sum.Sum(f.hash[:0])
		return nil
	}
	return io.TeeReader(in, counted{sum, &f.size}), nil
}

func (f *sessionFile) hashedFile(file *os.File, at int64) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(at, io.SeekStart)
	}
	f.size = end - at
	f.sum = func() error {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.NewSectionReader(file, at, f.size)); err != nil {
			return fmt.Errorf("read %s: %w", f.name, err)
		}
		sum.Sum(f.hash[:0])
		return nil
	}
	return err
}

// counted passes bytes on and counts them.
type counted struct {
	w io.Writer
	n *int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	*c.n += int64(n)
	return n, err
}

// key is the name under which the session is kept in a store: the same file content is
// the same session, wherever the file lies.
func (f *sessionFile) key() pleat.SessionKey {
	name := "file:" + f.hash.String()[:16]
	if f.number > 1 {
		name += fmt.Sprintf(":%d", f.number)
	}
	return pleat.SessionKey{Session: name}
}

// appendTo adds the file's messages from number from on to a session, some at a time.
func (f *sessionFile) appendTo(ctx context.Context, s *pleat.Session, from int, tell *progress) error {
	const most, bytes = 32, 256 << 10
	batch := make([]pleat.Message, 0, most)
	size, n := 0, 0
	flush := func() error {
		err := s.Append(ctx, batch...)
		clear(batch)
		batch, size = batch[:0], 0
		return err
	}
	for rec, err := range f.records() {
		if err != nil {
			return err
		}
		if n++; n <= from {
			continue
		}
		if messageBytes(rec.Message) > longMessage && f.kept == nil { // by itself: nothing here holds it while it is stored
			if err := flush(); err != nil {
				return err
			}
			if err := s.Append(ctx, rec.Message); err != nil {
				return err
			}
			continue
		}
		batch = append(batch, rec.Message)
		if f.kept != nil {
			f.kept[n-1].Message = pleat.Message{} // the session has it now
		}
		if size += messageBytes(rec.Message); len(batch) == most || size > bytes {
			if err := flush(); err != nil {
				return err
			}
		}
		if f.ahead != nil {
			tell.say("taking in %s", plural(n, "message"))
		} else {
			tell.say("taking in %s of %s", thousands(n), plural(f.count, "message"))
		}
	}
	return flush()
}

// messageBytes is about how large a message is.
func messageBytes(m pleat.Message) int {
	if m.Raw() != "" {
		return len(m.Raw())
	}
	n := 0
	for _, blk := range m.Blocks().All() {
		switch b := blk.(type) {
		case pleat.Text:
			n += b.Text.Size()
		case pleat.Thinking:
			n += b.Text.Size()
		case pleat.ToolCall:
			n += b.Input.Size()
		case pleat.ToolResult:
			for _, part := range b.Parts.All() {
				if t, ok := part.(pleat.Text); ok {
					n += t.Text.Size()
				}
			}
		}
	}
	return n
}

// options are what sessions on this file are opened with.
func (f *sessionFile) options() pleat.Options {
	return pleat.Options{Model: f.model, System: f.info.System, Tools: f.info.Tools, Codecs: codecs(), Recall: recallByCommand}
}

// recallByCommand is how a stub says to get its content back where pleat is a command.
func recallByCommand(handle string) string { return "pleat unfold " + handle }

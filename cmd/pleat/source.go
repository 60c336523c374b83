package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"

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
	name    string // as it was given
	number  int    // which session of the file, from 1
	size    int64
	hash    pleat.Hash // of the whole file
	info    sessionlog.Info
	records []sessionlog.Record
	model   pleat.Model
	known   bool // the model is in the table
}

// oneFile is the only argument of a command that reads a session file.
func oneFile(command string, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	return "", usageError{fmt.Sprintf("%s wants one session file, or - for standard input; got %d arguments", command, len(args))}
}

// readSession reads a session file, "-" being standard input. Damage is told on standard
// error, line by line.
func (p *program) readSession(ctx context.Context, name string, flags sourceFlags) (*sessionFile, error) {
	if flags.number < 1 {
		return nil, usageError{"--session counts from 1"}
	}
	f := &sessionFile{name: name, number: flags.number}
	in, err := p.openInput(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum := sha256.New()
	src, err := hashed(in, sum, &f.size)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	told := 0
	log, err := sessionlog.Open(src, &sessionlog.Options{
		Session: flags.number - 1, Strict: flags.strict, Sidechains: flags.sidechains,
		OnDamage: func(d sessionlog.Damage) {
			if told++; told <= maxDamage && !flags.strict {
				fmt.Fprintf(p.stderr, "pleat: %s:%d: skipped: %v\n", name, d.Line, d.Err)
			}
		},
	})
	if err != nil {
		return nil, f.explain(err)
	}
	defer log.Close()
	sum.Sum(f.hash[:0])
	if err := f.take(ctx, p, log); err != nil {
		return nil, err
	}
	if told > maxDamage && !flags.strict {
		fmt.Fprintf(p.stderr, "pleat: %s: %d more lines skipped\n", name, told-maxDamage)
	}
	if flags.model == "" {
		flags.model = f.info.Model
	}
	f.model, f.known = pleat.DefaultModels().Lookup(flags.model)
	return f, nil
}

// maxDamage is how many damaged lines are told one by one.
const maxDamage = 20

func (f *sessionFile) take(ctx context.Context, p *program, log *sessionlog.Log) error {
	tell := p.progress()
	defer tell.done()
	for rec, err := range log.Records() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return f.explain(err)
		}
		f.records = append(f.records, rec)
		tell.say("reading %s: %s", f.name, plural(len(f.records), "message"))
	}
	f.info = log.Info()
	if len(f.records) == 0 {
		return fmt.Errorf("read %s: a %s file without messages", f.name, f.info.Format)
	}
	return nil
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

// hashed hashes what is read. A file is hashed first and rewound; what cannot be rewound
// is hashed on its way to the reader, which takes all of it before it yields anything.
func hashed(in io.Reader, sum hash.Hash, size *int64) (io.Reader, error) {
	if f, ok := in.(*os.File); ok {
		if at, err := f.Seek(0, io.SeekCurrent); err == nil {
			n, err := io.Copy(sum, f)
			if err == nil {
				_, err = f.Seek(at, io.SeekStart)
			}
			*size = n
			return f, err
		}
	}
	return io.TeeReader(in, counted{sum, size}), nil
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

func (f *sessionFile) messages() []pleat.Message {
	msgs := make([]pleat.Message, len(f.records))
	for i, r := range f.records {
		msgs[i] = r.Message
	}
	return msgs
}

// options are what sessions on this file are opened with.
func (f *sessionFile) options() pleat.Options {
	return pleat.Options{Model: f.model, System: f.info.System, Tools: f.info.Tools, Codecs: codecs(), Recall: recallByCommand}
}

// recallByCommand is how a stub says to get its content back where pleat is a command.
func recallByCommand(handle string) string { return "pleat unfold " + handle }

package sessionfile

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/sessionlog"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// stored is the format of sessions that the store has.
const stored sessionlog.Format = "pleat"

// readStored reads a session of the store as if a file had it.
func (f *File) readStored(ctx context.Context, p *term.Console, flags *stores.Flags, info library.Info) error {
	st, _, err := stores.OpenAs(ctx, p, cmp.Or(flags, &stores.Flags{}), stores.ReadOnly)
	if err != nil {
		return err
	}
	f.input = st
	about, spent := library.Described(ctx, st, info)
	look := about.Look()
	s, err := pleat.OpenSession(ctx, st, info.Key, &look)
	if err == nil {
		f.scaled, err = library.Scaled(ctx, s, look.Model)
	}
	if err != nil {
		return err
	}
	f.Stored, f.Name = s, info.Key.String()
	f.Info = sessionlog.Info{
		Format: stored, SessionID: info.Key.Session, Title: about.Title, Dir: about.Project, Model: about.Model,
		Window: about.Budget.Window,
	}
	f.head, f.tally = about.Head, library.Tally{Last: about.Used, Spent: spent}
	report := library.Report(s)
	f.view = &seenJSON{
		Whole: report.Whole, Tokens: int(report.Snapshot.Tokens), Folds: len(report.Folds),
	}
	f.view.scale, f.view.added = library.Scale(s)
	for _, e := range report.Epochs {
		if !e.Undo {
			f.view.Epochs++
		}
	}
	f.view.copied = Compacted(info.Key)
	if err := f.keep(ctx, st, s); err != nil {
		return err
	}
	if f.Count = len(f.kept); f.Count == 0 {
		return fmt.Errorf("session %s has no messages", f.Name)
	}
	return nil
}

// asReported lets the session be counted in the provider's tokens, as its view is, judging by what
// the provider reported for its requests.
func (f *File) asReported(scaled model.Model) {
	if scaled.Tokenizer.Ratio == f.Model.Tokenizer.Ratio {
		f.view.scale, f.view.added = 1, 0
		return
	}
	f.Model.Tokenizer = scaled.Tokenizer
	f.head.System = int(math.Round(float64(f.head.System) * f.view.scale))
	f.head.Tools = int(math.Round(float64(f.head.Tools) * f.view.scale))
}

// keep takes the messages of a stored session, with what the providers reported for the answers.
func (f *File) keep(ctx context.Context, st store.Store, s *pleat.Session) error {
	var used *model.Usage // of an answer that was stored after it
	for e, err := range st.Scan(ctx, s.Key(), 1, store.EntryMessage, store.EntryUsage) {
		if err != nil {
			return err
		}
		if e.Kind == store.EntryUsage {
			var data struct {
				Usage *model.Usage
				Model string

				Estimated int // 0: of a request with another prompt
			}
			if json.Unmarshal(e.Data, &data) != nil || data.Estimated == 0 { // what cannot be read says nothing
				continue
			}
			f.asked(data.Usage, len(f.kept))
			if n := len(f.kept) - 1; n >= 0 && f.kept[n].Message.Role() == transcript.RoleAssistant &&
				f.kept[n].Usage == nil {
				f.kept[n].Usage, f.kept[n].Model = data.Usage, data.Model
			} else {
				used = data.Usage
			}
			continue
		}
		rec := sessionlog.Record{}
		if rec.Message, err = s.Message(ctx, len(f.kept)); err != nil {
			return err
		}
		if rec.Message.Role() == transcript.RoleAssistant {
			rec.Usage, used = used, nil
		}
		f.kept, f.size = append(f.kept, rec), f.size+int64(e.BodySize)
		fmt.Fprintln(f.hash, e.BodyHash)
	}
	f.last = used
	return nil
}

// Sees says what a model sees of a stored session: a format for the tokens of that and of all.
func (f *File) Sees() string {
	if f.view.copied {
		return "%s of %s tokens are left"
	}
	return "the model sees %s of %s tokens"
}

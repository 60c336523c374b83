package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/conv"
	"github.com/pleat-dev/pleat/internal/epoch"
	"github.com/pleat-dev/pleat/internal/meter"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// read decodes the data of an entry and hands it over.
func read[T any](e store.Entry, take func(T) error) error {
	var d T
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	return take(d)
}

// apply changes what an entry changes, live and restored.
func (j *Journal) apply(ctx context.Context, e store.Entry) error {
	st := j.o.State
	switch e.Kind {
	case store.EntrySession:
		return read(e, func(d Session) error {
			st.Forked = d.Parent != ""
			if st.Layout.Head == (fold.Parts{}) { // the session was opened without system prompt and tools
				st.SetHead(fold.Parts{System: max(d.Head.System, 0), Tools: max(d.Head.Tools, 0)})
			}
			return nil
		})
	case store.EntryPrefix:
		st.Marked = st.Len()
	case store.EntryMessage:
		return j.applyMessage(ctx, e)
	case store.EntryFold:
		return read(e, func(d folds) error { return st.Use(d.Folds) })
	case store.EntryEpoch:
		return read(e, func(d epoch.Data) error {
			err := st.Enter(d)
			if err == nil {
				st.EpochSeq = e.Seq
			}
			return err
		})
	case store.EntryDigest:
		return read(e, func(d told) error { return j.applyDigest(ctx, e, d) })
	case store.EntrySystem:
		return read(e, func(d epoch.Lead) error { st.SetLead(d); return nil })
	case store.EntryBack:
		return read(e, func(d back) error { return j.applyBack(ctx, e, d) })
	case store.EntryPin:
		return read(e, func(d pin) error { st.Pin(d.Text, d.Remove); return nil })
	case store.EntryNote:
		return read(e, func(n transcript.Note) error { st.Note(n); return nil })
	case store.EntryUsage:
		return read(e, func(u meter.Usage) error { j.o.Meter.Take(u); return nil })
	}
	return nil
}

// applyMessage takes in a message, and that the view before an answer was taken.
func (j *Journal) applyMessage(ctx context.Context, e store.Entry) error {
	st, restored := j.o.State, len(j.coming) == 0
	sent := j.o.Meter.LastSent(0)
	if total := st.Parts.Total(); restored && e.Time.After(j.heard) && total <= j.o.Meter.Most() {
		sent = total // what comes later than the message before it was answered, not told
	}
	j.heard = e.Time
	err := j.record(ctx, e)
	if err == nil && st.LastRole() == transcript.RoleAssistant {
		j.Answered, j.Elsewhere = e.Time, j.Elsewhere || restored
		j.o.Meter.Answered(sent)
	}
	return err
}

// record adds a message to the conversation: one that is being appended, or one that is read back. A
// body that is damaged costs that message, not the session.
func (j *Journal) record(ctx context.Context, e store.Entry) error {
	st := j.o.State
	if len(j.coming) > 0 {
		n := j.coming[0]
		j.coming = j.coming[1:]
		st.Record(n.m, n.shapes, conv.KeptMessage{Seq: e.Seq, Body: n.body, Form: n.form})
		return nil
	}
	d, err := conv.ReadMessageData(e.Data)
	if err != nil {
		return err
	}
	k := conv.KeptMessage{Seq: e.Seq, Body: e.BodyHash, Form: d.MessageForm}
	m, err := st.Contents.Read(ctx, k)
	switch {
	case err == nil:
		st.Record(m, conv.ShapesOf(m), k)
	case conv.IsDamage(err):
		j.o.Warn(ctx, fmt.Sprintf("message %d cannot be read back: %v", st.Len(), err))
		st.Record(conv.StandIn(k.Form, d.Blocks), d.Blocks, k)
	default:
		return err
	}
	return nil
}

// applyBack takes messages back, and puts another in place of the one before them.
func (j *Journal) applyBack(ctx context.Context, e store.Entry, d back) error {
	st := j.o.State
	if d.Messages != 0 || d.MessageData == nil {
		if err := st.TakeBack(d.Message, d.Messages); err != nil {
			return err
		}
	}
	if d.MessageData == nil {
		return nil
	}
	k := conv.KeptMessage{Seq: e.Seq, Body: e.BodyHash, Form: d.MessageForm}
	if k.Body.IsZero() {
		k.Body = transcript.HashOf(e.Body)
	}
	m, err := d.MessageForm.Message(e.Body, j.o.Codecs)
	if len(e.Body) == 0 {
		m, err = st.Contents.Read(ctx, k)
	}
	if err != nil { // what is there has more text
		j.o.Warn(ctx, fmt.Sprintf("message %d cannot be read back as it came again: %v", st.Len(), err))
		return nil
	}
	return st.Shorten(d.Message-1, m.Decoded(), conv.ShapesOf(m), k)
}

// applyDigest takes a digest in. One whose text is damaged is as good as none.
func (j *Journal) applyDigest(ctx context.Context, e store.Entry, d told) error {
	if e.Body == nil && e.BodySize > 0 {
		body, err := j.o.Store.Body(ctx, j.o.Key, e.BodyHash)
		if err != nil && !conv.IsDamage(err) {
			return err
		}
		e.Body = body
	}
	j.Digests = append(j.Digests, d.Origin)
	n := fold.Narrative{
		Start: d.Start, End: d.End, Focus: d.Focus, Text: string(e.Body), Tokens: d.Tokens, Partial: d.Unread > 0,
	}
	j.o.State.Tell(n, d.Source, e.Seq)
	j.o.Meter.Spend(d.USD)
	return nil
}

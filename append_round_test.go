package pleat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
)

// impatient refuses writes whose context has ended, and ends one after the first write.
type impatient struct {
	store.Store
	wrote func()
}

func (i *impatient) Append(
	ctx context.Context, key store.SessionKey, last uint64, e ...store.Entry,
) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	defer i.wrote()
	return i.Store.Append(ctx, key, last, e...)
}

// A context that ends between the writes of a call and of its large result leaves no call without
// a result.
func TestCancelledInRound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st := &impatient{store.NewMemory(), func() {}}
	o := &pleat.Options{Budget: pleat.Budget{Window: 8_000}}
	s := open(t, st, o)
	mustAppend(t, s, pleat.User("Read it."))
	st.wrote = cancel
	err := s.Append(ctx, pleat.Assistant(pleat.Call("x", "fetch", `{}`)),
		pleat.Results(pleat.Result("x", strings.Repeat("line of text\n", 3_000))), pleat.User("And the other one."))
	if err != nil || ctx.Err() == nil {
		t.Errorf("%v, the context: %v", err, ctx.Err())
	}
	st.wrote = func() {}
	if s = open(t, st, o); len(s.Violations()) > 0 || s.Len() != 4 {
		t.Errorf("%d messages, %v", s.Len(), s.Violations())
	}
	if err := s.Append(ctx, pleat.User("Again.")); err == nil {
		t.Error("a message is written although the context has ended before")
	}
}

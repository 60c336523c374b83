package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/store"
)

var errNoModel = errors.New(`there is no model to ask: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or ` +
	`name one with --model. ` +
	`No server answers on this machine: Ollama at 127.0.0.1:11434, llama.cpp at 8080, vLLM at 8000, LM Studio at ` +
	`1234. "pleat demo" shows a run without a model`)

var errNothing = errors.New(`there is no session to resume ("pleat store list" lists what the store has)`)

// open opens the store and names the session, with a prefix if the name is new.
func (r *running) open(ctx context.Context, prefix string) (err error) {
	if r.store != nil {
		return nil
	}
	how := stores.MakeMissing
	if r.f.resume != "" {
		how = stores.MustExist
	}
	r.store, _, err = stores.OpenAs(ctx, r.p, r.f.store, how)
	if how == stores.MustExist && errors.Is(err, store.ErrNotFound) {
		if r.f.resume == library.Last {
			return errNothing
		}
		return fmt.Errorf("no such session: session %q: %w: %w", r.f.resume, store.ErrNotFound, err)
	}
	if err != nil {
		return err
	}
	r.ends = append(r.ends, r.store.Close)
	r.key, err = r.sessionKey(ctx, prefix)
	return err
}

func (r *running) choose(ctx context.Context) error {
	var found models.Client
	var err error
	switch ok := true; {
	case r.f.model == "" && (r.f.demo || library.IsRehearsal(r.key.Session)):
		return r.rehearse(ctx)
	case r.f.model != "":
		found, err = models.Open(ctx, r.f.model, r.p.Getenv)
	default:
		if found, ok, err = models.Find(ctx, r.p.Getenv); !ok && err == nil {
			return errNoModel
		}
	}
	if err != nil {
		return err
	}
	s := &r.o.Session
	r.name, r.o.Generator, r.o.Request.Model = found.Name, found.Generator, found.Model.ID
	s.Model, s.Codecs, s.Check, s.Budget.Window = found.Model, library.Codecs(), found.Check, int(r.f.window)
	if r.f.demo {
		if err := r.trial(ctx); err != nil {
			return err
		}
	}
	switch r.f.digests.Name {
	case "none":
		return nil
	case "":
	default:
		if found, err = r.f.digests.Open(ctx, r.p.Getenv); err != nil {
			return err
		}
	}
	s.Digest.Generator, s.Digest.Model, s.Digest.Deadline = found.Generator, found.Model, digestTime
	return nil
}

// digestTime is how long a model may take for a digest that the run waits for.
const digestTime = 5 * time.Minute

// observer shows what happens, and notes why a digest was not written.
func (r *running) observer() func(agent.Event) {
	next := r.screen.observe
	if r.f.asJSON {
		next = jsonObserver(r.events)
	}
	if r.play != nil {
		next = r.play.watch(next)
	}
	return func(e agent.Event) {
		if e.Kind == agent.EventWarning && e.Digest {
			r.unwritten = e.Warning
		}
		next(e)
	}
}

func (r *running) make(ctx context.Context) error {
	f, key := r.f, r.key
	var err error
	if r.work == nil {
		if r.work, err = agent.OpenWorkspace(f.dir, f.roots...); err != nil {
			return err
		}
	}
	w := r.work
	r.ends = append(r.ends, w.Close)
	r.o.Store, r.o.Key = r.store, key
	if r.o.Request.System == "" {
		if r.o.Request.System, err = r.systemPrompt(w.Dir()); err != nil {
			return err
		}
	}
	r.o.Request.SessionKey = key.Session
	r.o.Tools = agent.StandardTools(w, &agent.ToolOptions{
		Skills: f.skills,
		Bash:   agent.BashOptions{Env: stores.ChildEnv(), Spill: r.outputs(key)},
	})
	r.o.Limits = f.limits
	r.o.Limits.Tokens = int(f.tokens)
	if r.o.Limits.USD, err = f.dollars(r.o.Session.Model); err != nil {
		return err
	}
	r.o.Permit, r.o.NoRecall = r.permit, f.noRecall
	r.o.Hooks = f.hooks.tools()
	r.o.Session.Hooks = f.hooks.epochs(func(err error) { r.p.Note("pleat: %v\n", err) })
	r.o.Session.Observe = r.tel.Session
	r.o.Session.KeepFile = w.Keep
	if r.play == nil {
		r.o.Session.Project = w.Dir()
	}
	r.o.Generator = r.tel.Generator(r.o.Generator, r.o.Session.Model.Provider, key.Session)
	if d := &r.o.Session.Digest; d.Generator != nil {
		d.Generator, d.Rules = r.tel.Generator(d.Generator, d.Model.Provider, key.Session), f.rules
	}
	if f.secrets {
		r.o.Redact = agent.KeepSecrets
	}
	r.o.Observe = r.observer()
	r.agent, err = agent.New(ctx, &r.o)
	if err != nil {
		return err
	}
	r.ends = append(r.ends, r.agent.Close)
	if !f.asJSON {
		r.p.Printf("%s, session %s, in %s\n", r.name, r.screen.s.Bold(key.Session), w.Dir())
	}
	return nil
}

// outputs is the folder for command output that is too long to record. It is beside the
// store, so that a resumed session still has it; "" means a temporary folder.
func (r *running) outputs(key store.SessionKey) string {
	path := r.f.store.Path
	if stores.Scheme(path) != "" {
		path = "" // then beside the default store
	}
	path, err := stores.Path(r.p, path)
	if err != nil || r.play != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(path), "outputs", filepath.Base(filepath.Clean("/"+key.Session)))
}

// sessionKey is the session's name: the one that was asked for, or a new one.
func (r *running) sessionKey(ctx context.Context, prefix string) (store.SessionKey, error) {
	f := r.f
	switch {
	case f.resume == library.Last:
		lib := library.New(library.Options{Store: r.store, Tenant: f.store.Tenant})
		info, err := lib.Newest(ctx, func(i library.Info) bool {
			name := i.Key.Session
			return i.Key.Tenant == f.store.Tenant && i.Parent == "" &&
				(strings.HasPrefix(name, "run-") && !f.demo || library.IsRehearsal(name) && f.model == "")
		})
		if errors.Is(err, store.ErrNotFound) {
			err = errNothing
		}
		return info.Key, err
	case f.resume != "":
		info, err := stores.Find(ctx, r.p, r.store, f.store, f.resume)
		if errors.Is(err, store.ErrNotFound) {
			err = fmt.Errorf("no such session: %w", err)
		}
		return info.Key, err
	case f.session != "":
		return f.store.Key(f.session), nil
	}
	return f.store.Key(fmt.Sprintf("%s-%s-%06x", prefix, time.Now().Format("20060102-150405"), rand.IntN(1<<24))), nil
}

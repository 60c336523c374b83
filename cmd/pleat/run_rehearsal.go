package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/agent/rehearsal"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// pace is the pause after each word of the rehearsal on a terminal, where people watch.
const pace = 12 * time.Millisecond

// rehearse sets up the rehearsal: a program that plays the model, in a folder of its own
// that is gone when the run is over. With --dir or --store the user's own are used, so
// that a run can be broken off and resumed.
func (r *running) rehearse(ctx context.Context) error {
	fmt.Fprintln(r.p.stderr, "pleat: a rehearsal: a program plays the model; its tools are real, there is no network, and nothing is spent")
	dir, err := r.stage()
	if err != nil {
		return err
	}
	if r.f.store.path == "" {
		store, err := sqlite.Open(filepath.Join(dir, "pleat.db"), nil)
		if err != nil {
			return err
		}
		r.store = store
		r.ends = append(r.ends, store.Close)
	}
	if r.work, err = agent.OpenWorkspace(filepath.Join(dir, "shop"), r.f.roots...); err != nil {
		return err
	}
	policy := r.o.Session.Policy
	r.o = rehearsal.Options(r.work)
	r.o.Session.Policy = policy
	model := &rehearsal.Model{}
	if r.screen.live {
		model.Pace = pace
	}
	r.name, r.o.Generator = "rehearsal", model
	if r.f.window > 0 {
		r.o.Session.Budget.Window = int(r.f.window)
	}
	r.rules.Allow = append(r.rules.Allow, rehearsal.Rules().Allow...)
	r.digestBy(model, rehearsal.Row())
	if r.task == "" && r.f.resume == "" {
		r.task = rehearsal.Task
		fmt.Fprintln(r.p.stdout, "› "+r.task)
	}
	return nil
}

// stage prepares the folder that the rehearsal plays in.
func (r *running) stage() (string, error) {
	dir := r.f.dir
	if dir == "." {
		temp, err := os.MkdirTemp("", "pleat-rehearsal-")
		if err != nil {
			return "", fmt.Errorf("prepare the rehearsal: %w", err)
		}
		dir = temp
		r.ends = append(r.ends, func() error { return os.RemoveAll(temp) })
	}
	shop := filepath.Join(dir, "shop")
	if _, err := os.Stat(shop); err == nil {
		return dir, nil // an earlier rehearsal is resumed
	}
	if err := os.MkdirAll(shop, 0o700); err != nil {
		return "", fmt.Errorf("prepare the rehearsal: %w", err)
	}
	return dir, rehearsal.Prepare(shop)
}

// digestBy lets a model write the digests.
func (r *running) digestBy(g model.Generator, m model.Model) { digestWith(&r.o.Session, g, m) }

// digestWith has a session's digests written by a model.
func digestWith(o *pleat.Options, g model.Generator, m model.Model) {
	o.Digest.Generator, o.Digest.Model = g, m
}

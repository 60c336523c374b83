package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/agent/rehearsal"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// pace is the pause after each word of the rehearsal on a terminal.
const pace = 12 * time.Millisecond

// rehearse sets up the rehearsal: a program that plays the model, in a folder of its own
// that is deleted after the run. With --dir or --store the user's own are used, so that a
// run can be interrupted and resumed.
func (r *running) rehearse(ctx context.Context) error {
	r.p.note("pleat: a rehearsal: a program plays the model; its tools are real, there is no network, and nothing is spent\n")
	play, err := rehearsal.Find(cmp.Or(r.f.scenario, "shop"))
	if err != nil {
		return usageError{err.Error()}
	}
	dir, err := r.stage(play)
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
	if r.work, err = agent.OpenWorkspace(filepath.Join(dir, play.Name), r.f.roots...); err != nil {
		return err
	}
	s := &r.o.Session
	policy, model := s.Policy, &rehearsal.Model{Scenario: play.Name}
	r.o = play.Options(r.work)
	s.Policy, s.Digest.Generator, s.Digest.Model = play.Policy(policy), model, s.Model
	s.Budget, r.screen.frames = play.Budget(policy), play.Frames
	if r.f.digest == "none" {
		s.Digest.Generator = nil
	}
	if r.screen.live {
		model.Pace = pace
	}
	r.name, r.o.Generator = "rehearsal", model
	if r.f.window > 0 {
		s.Budget.Window = int(r.f.window)
	}
	r.rules.Allow = append(r.rules.Allow, rehearsal.Rules().Allow...)
	if r.task == "" && r.f.resume == "" {
		r.task = play.Task
		r.p.printf("› %s\n", r.task)
	}
	return nil
}

// stage prepares the folder of the rehearsal.
func (r *running) stage(play rehearsal.Scenario) (string, error) {
	dir := r.f.dir
	if dir == "." {
		temp, err := os.MkdirTemp("", "pleat-rehearsal-")
		if err != nil {
			return "", fmt.Errorf("prepare the rehearsal: %w", err)
		}
		dir = temp
		r.ends = append(r.ends, func() error { return os.RemoveAll(temp) })
	}
	folder := filepath.Join(dir, play.Name)
	if _, err := os.Stat(folder); err == nil {
		return dir, nil // an earlier rehearsal is resumed
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("prepare the rehearsal: %w", err)
	}
	return dir, play.Prepare(folder)
}

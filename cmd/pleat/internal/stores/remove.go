package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/textindex"
	"github.com/pleat-dev/pleat/store/sqlite"
)

// Remove deletes the store in a file, and the copies of it that were made before it was brought up to date. If
// another process has it open, the error is [sqlite.ErrBusy], and nothing is deleted.
func Remove(ctx context.Context, path string) error {
	if err := InUse(ctx, path); err != nil {
		return err
	}
	copies, err := sqlite.Copies(path)
	errs := []error{err, textindex.Remove(path)}
	for _, name := range copies {
		errs = append(errs, os.Remove(name))
	}
	return errors.Join(errs...)
}

// InUse fails if another process has the store in a file open, and says which.
func InUse(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := sqlite.InUse(ctx, path); err == nil {
		return nil
	} else if !errors.Is(err, sqlite.ErrBusy) {
		return fmt.Errorf("see whether %s is in use: %w", path, err)
	}
	who := "another process"
	if found := openers(path); len(found) > 0 {
		who = strings.Join(found, ", ")
	}
	return fmt.Errorf("%s has the store %s open, and would go on without it: end it first: %w", who,
		path, sqlite.ErrBusy)
}

// openers names the other processes that have a file open, where the system says so.
func openers(path string) (names []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, file := range files {
		pid := strings.Split(file, "/")[2]
		if target, err := os.Readlink(file); err != nil || target != path || pid == fmt.Sprint(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		words := strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
		words[0] = filepath.Base(words[0])
		name := fmt.Sprintf("process %s (%s)", pid, term.Clip(strings.Join(words[:min(len(words), 3)], " "), 60))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

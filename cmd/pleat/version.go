package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func versionCommand(p *term.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Args:  noArguments,
		Short: "print the version",
		Long:  "Prints the version of pleat, the commit it was built from and its day if they are known, and\nthe version of Go.",
		RunE: runs(p, func(context.Context, *term.Console, []string) error {
			p.Printf("pleat %s\n", version())
			return nil
		}),
	}
}

// release and built are set by the linker in released programs: the version, and the commit and
// the day it was made. Go writes them into programs that it builds from a clone by itself.
var release, built string

// version is the version, commit and day, Go version and platform of the program.
func version() string {
	v, from := cmp.Or(release, "development"), built
	if info, ok := debug.ReadBuildInfo(); ok {
		if release == "" && info.Main.Version != "" && info.Main.Version != "(devel)" {
			v = info.Main.Version
		}
	}
	if when := buildSetting("vcs.time"); when != "" && built == "" {
		from = commit() + "," + when
	}
	if commit, when, ok := strings.Cut(from, ","); ok {
		v += " (" + commit + ", " + when[:min(len(when), len("2026-01-02"))] + ")"
	}
	return fmt.Sprintf("%s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildSetting is what the go command noted about the build under a name; "": nothing.
func buildSetting(name string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == name {
				return s.Value
			}
		}
	}
	return ""
}

// commit is the revision that the program was built from, if it knows.
func commit() string {
	revision := buildSetting("vcs.revision")
	return revision[:min(len(revision), 12)]
}

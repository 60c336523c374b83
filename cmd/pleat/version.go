package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Args:  noArguments,
		Short: "print the version",
		Long:  "Prints the version of pleat, the commit it was built from if that is known, and the\nversion of Go.",
		RunE: p.runs(func(context.Context, *program, []string) error {
			p.printf("pleat %s\n", version())
			return nil
		}),
	}
}

// version is the version, commit, Go version and platform of the program.
func version() string {
	v, built := "development", ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v = info.Main.Version
	}
	if c := commit(); c != "" {
		built = " (" + c + ")"
	}
	return fmt.Sprintf("%s%s %s %s/%s", v, built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

var versionCommand = command{
	name:    "version",
	summary: "print the version",
	help:    "Prints the version of pleat, the commit it was built from where that is known, and the\nversion of Go.",
	run: func(_ context.Context, p *program, args []string) error {
		if len(args) > 0 {
			return usageError{"version takes no arguments"}
		}
		version, commit := "development", ""
		if info, ok := debug.ReadBuildInfo(); ok {
			if v := info.Main.Version; v != "" && v != "(devel)" {
				version = v
			}
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					commit = " (" + s.Value[:min(12, len(s.Value))] + ")"
				}
			}
		}
		fmt.Fprintf(p.stdout, "pleat %s%s %s %s/%s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	},
}

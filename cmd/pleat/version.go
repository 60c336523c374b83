package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

var versionCommand = command{
	name:    "version",
	takes:   noArguments,
	summary: "print the version",
	help:    "Prints the version of pleat, the commit it was built from if that is known, and the\nversion of Go.",
	run: func(_ context.Context, p *program, _ []string) error {
		version, built := "development", ""
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			version = info.Main.Version
		}
		if c := commit(); c != "" {
			built = " (" + c + ")"
		}
		fmt.Fprintf(p.stdout, "pleat %s%s %s %s/%s\n", version, built, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return nil
	},
}

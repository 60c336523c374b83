//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package main

import "os"

// terminalWidth is not known here; COLUMNS tells it.
func terminalWidth(*os.File) int { return 0 }

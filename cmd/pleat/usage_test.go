package main

import (
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func TestCents(t *testing.T) {
	for usd, want := range map[float64]string{
		0:          "$0.00",
		0.004:      "$0.0040",
		0.01:       "$0.01",
		0.996:      "$1.00",
		1.999:      "$2.00",
		1.004:      "$1.00",
		12345.678:  "$12,345.68",
		999.995001: "$1,000.00",
	} {
		if got := term.Cents(usd); got != want {
			t.Errorf("%v is %s, want %s", usd, got, want)
		}
	}
}

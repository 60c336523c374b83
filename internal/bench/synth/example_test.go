package synth_test

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/bench/synth"
)

// A session comes with what is true of it: here the files that were changed, and how many
// exact strings the agent still needs when everything before the middle is gone.
func ExampleMake() {
	s := synth.Make(synth.Options{Seed: 1, Kind: synth.CI})
	for _, f := range s.Truth.Files {
		if f.State != synth.FileRead {
			fmt.Println(f.State, f.Path)
			break
		}
	}
	cut, needed := len(s.Messages)/2, 0
	for _, l := range s.Truth.Literals {
		if l.Needs(cut) >= 0 {
			needed++
		}
	}
	fmt.Println(needed > 0)
	// Output:
	// edited .github/workflows/zone-replica.yml
	// true
}

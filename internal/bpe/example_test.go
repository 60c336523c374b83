package bpe_test

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/bpe"
)

func ExampleEncoding_Count() {
	fmt.Println(bpe.O200k().Count("Count me in tokens."))
	// Output: 5
}

func ExampleEncoding_AppendTokens() {
	fmt.Println(bpe.O200k().AppendTokens(nil, "hello world"))
	// Output: [24912 2375]
}

// A meter counts model output as it arrives, wherever the deltas are cut.
func ExampleMeter() {
	m := bpe.O200k().NewMeter()
	for _, delta := range []string{"I do", "n", "'", "t kn", "ow."} {
		m.Append(delta)
	}
	fmt.Println(m.Tokens(), bpe.O200k().Count("I don't know."))
	// Output: 4 4
}

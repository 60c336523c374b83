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

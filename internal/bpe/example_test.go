package bpe_test

import (
	"fmt"

	"github.com/pleat-dev/pleat/internal/bpe"
)

func ExampleEncoding_Count() {
	fmt.Println(bpe.O200k().Count("Count me in tokens."))
	// Output: 5
}

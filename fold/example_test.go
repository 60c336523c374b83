package fold_test

import (
	"fmt"

	"github.com/pleat-dev/pleat/fold"
)

// A budget is worked out in tokens: where folding begins, where it stops, and what a request
// may have at most.
func ExampleBudget_Limits() {
	l := fold.Budget{Window: 200_000, Red: fold.Share(0.7)}.Limits()
	fmt.Println("red", l.Red, "target", l.Target, "most", l.Max)
	fmt.Println(l.State(150_000))
	// Output:
	// red 140000 target 50000 most 180000
	// red
}

package policy_test

import (
	"fmt"
	"log"

	"github.com/pleat-dev/pleat/policy"
)

// A policy file names levers and their settings; what it leaves out is zero.
func ExampleParse() {
	p, err := policy.Parse([]byte(`{
		"name": "short",
		"budget": {"red": "70%"},
		"at_red": [{"lever": "mask", "keep": 5}, {"lever": "squeeze"}]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Name, p.Budget.Red, p.AtRed.Names())
	// Output: short 70% [mask squeeze]
}

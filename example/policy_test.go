package example_test

import (
	"fmt"
	"log"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/policy"
)

// Careful is a policy: a program of levers for each occasion.
func Careful() fold.Policy {
	return fold.Policy{
		Name:    "careful",
		Doc:     "mask what is old; never let a model summarize",
		Budget:  fold.Budget{Red: fold.Share(0.7)},
		AtBirth: fold.Steps{lever.Spill{Chars: 20_000, Preview: 1_000}},
		AtRed:   fold.Steps{lever.Aim{}, lever.Supersede{}, lever.Mask{Keep: 5}, lever.Squeeze{}},
	}
}

// A session takes a policy in its options. A file of it can be edited and read back.
func Example_policy() {
	p := Careful()
	if err := p.Check(); err != nil {
		log.Fatal(err)
	}
	file, err := policy.Format(fold.Policy{Name: p.Name, AtRed: p.AtRed})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", file)
	// Output:
	// {
	//   "name": "careful",
	//   "at_red": [
	//     {
	//       "lever": "aim"
	//     },
	//     {
	//       "lever": "supersede"
	//     },
	//     {
	//       "lever": "mask",
	//       "keep": 5
	//     },
	//     {
	//       "lever": "squeeze"
	//     }
	//   ]
	// }
}

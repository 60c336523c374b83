// Package policy has the policies that come with pleat, one file each (the baselines share one). A policy is a
// program of levers (package lever): it says which are pulled at birth, before every
// request, at red, and so on. To make your own, start from one of these and change the
// steps, or write a new [fold.Policy]; both can be kept in a file, see [Parse].
package policy

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// All returns the policies in the order in which help texts list them.
func All() []fold.Policy {
	return []fold.Policy{Default(), Book(), threshold(), threeLayer(), fourLever(), fourLayer(), truncate(), None()}
}

// ByName finds one of [All].
func ByName(name string) (fold.Policy, error) {
	var names []string
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return fold.Policy{}, fmt.Errorf("find policy %q: there are %s", name, strings.Join(names, ", "))
}

// Pays returns the policy changed so that it also folds when that saves money: with its
// mask, and with keep-reread before it if it has that at red.
func Pays(p fold.Policy) fold.Policy {
	p.WhenItPays = nil
	for _, l := range p.AtRed {
		switch l.(type) {
		case lever.KeepReread, lever.Mask:
			p.WhenItPays = append(p.WhenItPays, l)
		}
	}
	return p
}

// shellLimit returns a limit for the tools that run commands: their output is long more
// often than it is worth reading.
func shellLimit(n int) map[string]int { return map[string]int{"@shell": n} }

// LastResort returns the steps for a view that must fit when those of the policy led to none
// that is legal.
func LastResort() fold.Steps { return fold.Steps{lever.Aim{}, lever.Squeeze{}} }

// Package lever has pleat's levers, one file each (Summarize stands with Digest). A lever
// is a value whose fields are its settings; a policy (package policy) is a list of them for
// each occasion.
//
// The cheap ones come first in a policy: [Spill] at birth, then [Shorten], [Supersede],
// [Collapse] and [Mask], which need no page, then [Snip] or [Digest], which fold turns into one, or
// [Summarize], which replaces them by a model's text as it came, and [Squeeze] as the last
// resort. [Aim] and [Refill] fold nothing by themselves, [KeepReread] only what stands twice: they
// say where the others stop, what stays, and what comes back. [Truncate], which drops the first half, is
// the baseline to compare with, and [Nothing] is for a policy that folds nothing.
package lever

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
)

// All returns one of each lever with its settings at zero: what policy files can name.
func All() []fold.Lever {
	return []fold.Lever{
		Aim{},
		KeepReread{},
		Spill{},
		Shorten{},
		Supersede{},
		Collapse{},
		Mask{},
		Snip{},
		Digest{},
		Summarize{},
		Squeeze{},
		Refill{},
		Truncate{},
		Nothing{},
	}
}

// safe reports whether a cut before message i leaves every round whole.
func safe(d *fold.Draft, i int) bool { return d.Back(i) == i }

// tail returns the last safe place with at least keep messages after it.
func tail(d *fold.Draft, keep int) int { return d.Back(max(len(d.Facts())-keep, 0)) }

// notBlank refuses a stub, or another setting, that says nothing.
func notBlank(name, setting string) error {
	if setting != "" && text.Blank(setting) {
		return fmt.Errorf("%s is blank: leave it out, or let it say something", name)
	}
	return nil
}

// knownTools refuses classes of tools that there are not.
func knownTools(patterns []string) error {
	for _, p := range patterns {
		if !client.IsPattern(p) {
			return fmt.Errorf("there is no class of tools %q: there are %s", p, strings.Join(client.Classes(), ", "))
		}
	}
	return nil
}

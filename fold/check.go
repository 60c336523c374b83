package fold

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/pleat-dev/pleat/internal/fault"
)

// Check reports what makes no sense about steps that are pulled, as [Policy.Check] does. The names
// of own belong to levers of their types.
func (s Steps) Check(own ...Lever) error { return s.check("", own) }

// check does that for one of a policy's lists; empty: for steps of no policy.
func (s Steps) check(list string, own []Lever) error {
	of := ""
	if list != "" {
		of = " of " + list
	}
	for i, l := range s {
		if fault.IsNil(l) {
			return fmt.Errorf("step %d%s is nil", i+1, of)
		}
		if err := checkLever(l, list == "at_birth", own); err != nil {
			return fmt.Errorf("step %d%s: %w", i+1, of, err)
		}
	}
	return nil
}

// checkLever reports what makes no sense about a lever. What it is asked later, where nobody could
// take an error, is asked here first.
func checkLever(l Lever, born bool, own []Lever) error {
	var name string
	if err := fault.Of(l, func() error { name = l.Name(); return nil }); err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("lever %q has no name", name)
	}
	for _, o := range own {
		if o.Name() == name && reflect.Indirect(reflect.ValueOf(l)).Type() != reflect.TypeOf(o) {
			return fmt.Errorf("lever %q has the name of one of pleat's own: give it another", name)
		}
	}
	switch _, birther := l.(Birther); {
	case birther && !born:
		return fmt.Errorf("lever %q can only be pulled at birth", name)
	case born && !birther:
		return fmt.Errorf("lever %q cannot be pulled at birth", name)
	}
	return fault.Of(l, func() error {
		if a, ok := l.(Asker); ok {
			if err := a.Asks().Check(); err != nil {
				return err
			}
		}
		if c, ok := l.(Checker); ok {
			return c.Check()
		}
		return nil
	})
}

// maxNumber is the largest number that a setting may have. Sums of such numbers, and products of
// two, do not overflow.
const maxNumber = 1 << 30

// CheckNumbers refuses settings that are negative or too large; names says what they are called in
// policy files.
func CheckNumbers(names string, numbers ...int) error {
	switch {
	case slices.Min(numbers) < 0:
		return fmt.Errorf("%s must not be negative", names)
	case slices.Max(numbers) > maxNumber:
		return fmt.Errorf("%s: %d is more than %d", names, slices.Max(numbers), maxNumber)
	}
	return nil
}

package fold

import (
	"fmt"
	"reflect"

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
	kind := reflect.Indirect(reflect.ValueOf(l))
	if name == "" {
		return fmt.Errorf("lever %q has no name", name)
	}
	for _, o := range own {
		if o.Name() == name && kind.Type() != reflect.TypeOf(o) {
			return fmt.Errorf("lever %q has the name of one of pleat's own: give it another", name)
		}
	}
	if n := largest(kind); n > maxNumber {
		return fmt.Errorf("lever %q: %d is more than %d", name, n, maxNumber)
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
		if s, ok := l.(Starter); ok {
			s.Behind()
		}
		if c, ok := l.(Checker); ok {
			return c.Check()
		}
		return nil
	})
}

// maxNumber is the largest number that a setting of a lever may have. Sums of such numbers,
// and products of two, do not overflow.
const maxNumber = 1 << 30

// largest is the largest number in a lever's settings: fields that a policy file can set.
func largest(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if _, ok := v.Type().MethodByName("Nanoseconds"); !ok {
			n = v.Int()
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous || f.IsExported() && f.Tag.Get("json") != "-" {
				n = max(n, largest(v.Field(i)))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			n = max(n, largest(v.Index(i)))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			n = max(n, largest(v.MapIndex(key)))
		}
	}
	return n
}

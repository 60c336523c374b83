package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/fault"
)

// Format writes a policy as [Parse] reads it. A step is an object with the lever's name and
// its settings: {"lever": "mask", "keep": 3}.
func Format(p fold.Policy) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(p)
	return b.Bytes(), err
}

// policyFile is a policy whose steps are not read yet.
type policyFile struct {
	fold.Policy
	AtBirth    []json.RawMessage `json:"at_birth"`
	EveryTurn  []json.RawMessage `json:"every_turn"`
	AtRed      []json.RawMessage `json:"at_red"`
	OnRefusal  []json.RawMessage `json:"on_refusal"`
	WhenIdle   []json.RawMessage `json:"when_idle"`
	WhenItPays []json.RawMessage `json:"when_it_pays"`
	IdleAfter  string            `json:"idle_after"` // as time.ParseDuration reads it
}

// Parse reads a policy file, as [Format] writes it. It can name the levers of package lever
// and the ones passed in, which must have names of their own. Each step is a copy of its lever with
// the settings that the file gives. Parse refuses a member that it does not know, and what
// [fold.Policy.Check] refuses.
func Parse(data []byte, levers ...fold.Lever) (fold.Policy, error) {
	p, err := parse(bytes.TrimPrefix(data, []byte("\ufeff")), append(lever.All(), levers...))
	if err == nil {
		err = p.Check()
	}
	if err != nil {
		return fold.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	return p, nil
}

func parse(data []byte, known []fold.Lever) (fold.Policy, error) {
	if err := checkKnown(known); err != nil {
		return fold.Policy{}, err
	}
	const such = `a policy is an object such as {"name": "mine", "at_red": [{"lever": "mask", "keep": 3}]}`
	switch first, err := json.NewDecoder(bytes.NewReader(data)).Token(); {
	case err == io.EOF:
		return fold.Policy{}, errors.New("it is empty: " + such)
	case err == nil && first != json.Delim('{'):
		return fold.Policy{}, errors.New("it is no object: " + such)
	}
	var f policyFile
	if err := strict(data, &f); err != nil {
		return fold.Policy{}, err
	}
	p := f.Policy
	var err error
	if f.IdleAfter != "" {
		if p.IdleAfter, err = time.ParseDuration(f.IdleAfter); err != nil {
			return fold.Policy{}, fmt.Errorf("idle_after: %w", err)
		}
	}
	for _, list := range []struct {
		name string
		from []json.RawMessage
		to   *fold.Steps
	}{
		{"at_birth", f.AtBirth, &p.AtBirth},
		{"every_turn", f.EveryTurn, &p.EveryTurn},
		{"at_red", f.AtRed, &p.AtRed},
		{"on_refusal", f.OnRefusal, &p.OnRefusal},
		{"when_idle", f.WhenIdle, &p.WhenIdle},
		{"when_it_pays", f.WhenItPays, &p.WhenItPays},
	} {
		for i, s := range list.from {
			l, err := read(s, known)
			if err != nil {
				return fold.Policy{}, fmt.Errorf("step %d of %s: %w", i+1, list.name, err)
			}
			*list.to = append(*list.to, l)
		}
	}
	return p, nil
}

// checkKnown refuses levers that a file could not name.
func checkKnown(known []fold.Lever) error {
	names := make(map[string]bool)
	for _, l := range known {
		if fault.IsNil(l) {
			return errors.New("a lever that was passed in is nil")
		}
		var name string
		if err := fault.Of(l, func() error { name = l.Name(); return nil }); err != nil {
			return err
		}
		if names[name] {
			return fmt.Errorf("two levers are called %q: give the one that was passed in another name", name)
		}
		names[name] = true
	}
	return nil
}

func read(data json.RawMessage, known []fold.Lever) (fold.Lever, error) {
	var settings map[string]json.RawMessage
	var name string
	if json.Unmarshal(data, &settings) != nil || json.Unmarshal(settings["lever"], &name) != nil {
		return nil, errors.New(`a step is an object such as {"lever": "mask", "keep": 3}`)
	}
	delete(settings, "lever")
	var names []string
	for _, l := range known {
		names = append(names, l.Name())
		if l.Name() != name {
			continue
		}
		rest, _ := json.Marshal(settings)
		step := apart(reflect.ValueOf(l))
		into := step
		if step.Kind() != reflect.Pointer {
			into = step.Addr()
		}
		var read fold.Lever
		if err := fault.Of(l, func() error {
			if err := strict(rest, into.Interface()); err != nil {
				return err
			}
			if read = step.Interface().(fold.Lever); read.Name() != name {
				return fmt.Errorf("with these settings it is called %q", read.Name())
			}
			return nil
		}); err != nil {
			return nil, err
		}
		return read, nil
	}
	return nil, fmt.Errorf("there is no lever %q: there are %s", name, strings.Join(names, ", "))
}

// apart copies a lever with its settings, so that what is read into the copy leaves the lever, and
// other steps of it, as they are.
func apart(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c.Set(apart(v.Elem()).Addr())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := c.Field(i); f.CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				f.Set(apart(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			c.Index(i).Set(apart(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			c.Set(reflect.MakeMap(v.Type()))
		}
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, apart(v.MapIndex(key)))
		}
	}
	return c
}

// strict decodes JSON and refuses unknown members and more than one value.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
			if kind.Field == "" {
				return fmt.Errorf("%s is no struct, so it has no settings", kind.Type)
			}
			return fmt.Errorf("%q has the wrong kind of value: %s", kind.Field, kind.Value)
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the policy")
	}
	return nil
}

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
// the settings that the file gives. Parse refuses a member that is there
// twice, and what [fold.Policy.Check] refuses.
func Parse(data []byte, levers ...fold.Lever) (fold.Policy, error) {
	p, err := parse(data, append(lever.All(), levers...))
	if err == nil {
		err = p.Check()
	}
	if err != nil {
		return fold.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	return p, nil
}

func parse(data []byte, known []fold.Lever) (fold.Policy, error) {
	names := make(map[string]bool)
	for _, l := range known {
		if fault.IsNil(l) {
			return fold.Policy{}, errors.New("a lever that was passed in is nil")
		}
		var name string
		if err := fault.Of(l, func() error { name = l.Name(); return nil }); err != nil {
			return fold.Policy{}, err
		}
		if names[name] {
			return fold.Policy{}, fmt.Errorf("two levers are called %q: give the one that was passed in another name",
				name)
		}
		names[name] = true
	}
	var f policyFile
	if err := strict(data, &f); err != nil {
		return fold.Policy{}, err
	}
	if err := unique(json.NewDecoder(bytes.NewReader(data))); err != nil {
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

func read(data json.RawMessage, known []fold.Lever) (fold.Lever, error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(data, &settings); err != nil {
		return nil, err
	}
	var name string
	if err := json.Unmarshal(settings["lever"], &name); err != nil {
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
		if err := fault.Of(l, func() error { return strict(rest, into.Interface()) }); err != nil {
			return nil, err
		}
		return step.Interface().(fold.Lever), nil
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

// strict decodes JSON and refuses unknown members.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the policy")
	}
	return nil
}

// unique refuses a value in which an object has a member twice, in whatever case: the first would
// be ignored.
func unique(d *json.Decoder) error {
	open, err := d.Token()
	if _, nested := open.(json.Delim); err != nil || !nested {
		return err
	}
	names := make(map[string]bool)
	for d.More() {
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return err
			}
			folded := strings.ToLower(name.(string))
			if names[folded] {
				return fmt.Errorf("%q is there twice", name)
			}
			names[folded] = true
		}
		if err := unique(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

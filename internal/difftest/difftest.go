// Package difftest compares two values in tests and shows where they differ. It writes
// both as lines of text and returns a line diff; the text decides what is equal. Where a
// test only needs that nothing failed, [Must] says so.
package difftest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// Values returns "" if want and got are equal, else their differing lines, those of want
// with a "-" before them and those of got with a "+". Unexported fields count, a nil slice
// or map differs from an empty one, and times are equal if they are the same instant. The
// values may not contain themselves.
func Values(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return lines(render(want), render(got))
}

// Equal fails a test in which want and got are not equal. It says of what, and shows where
// they differ.
func Equal(t testing.TB, want, got any, what ...any) {
	t.Helper()
	if d := Values(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(what...), d)
	}
}

// Must ends a test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func render(v any) []string {
	if s, ok := v.(string); ok {
		return strings.SplitAfter(s, "\n")
	}
	var p printer
	p.value(reflect.ValueOf(&v).Elem(), "")
	return strings.SplitAfter(p.String(), "\n")
}

type printer struct{ strings.Builder }

// value writes v; tabs stand before each of its further lines.
func (p *printer) value(v reflect.Value, tabs string) {
	switch v.Kind() {
	case reflect.String:
		p.WriteString(strings.ReplaceAll(strconv.Quote(v.String()), `\n`, `\n`+"\n"+tabs))
	case reflect.Interface, reflect.Pointer:
		switch {
		case v.IsNil():
			p.WriteString("nil")
		case v.Kind() == reflect.Pointer:
			p.WriteString("&")
			p.value(v.Elem(), tabs)
		default:
			p.WriteString(v.Elem().Type().String() + " ")
			p.value(v.Elem(), tabs)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() && v.CanInterface() {
			p.WriteString(v.Interface().(time.Time).UTC().Format(time.RFC3339Nano))
			return
		}
		name := func(i int) string { return v.Type().Field(i).Name }
		p.list(tabs, v.NumField(), func(i int) reflect.Value { return v.Field(i) }, name)
	case reflect.Map:
		p.dict(v, tabs)
	case reflect.Slice, reflect.Array:
		switch {
		case v.Kind() == reflect.Slice && v.IsNil():
			p.WriteString("nil")
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
			p.value(reflect.ValueOf(string(v.Bytes())), tabs)
		default:
			p.list(tabs, v.Len(), v.Index, strconv.Itoa)
		}
	default:
		p.WriteString(scalar(v))
	}
}

// scalar never calls a String method: two values may share what it returns.
func scalar(v reflect.Value) string {
	if v.CanUint() { // %#v is hexadecimal
		return strconv.FormatUint(v.Uint(), 10)
	}
	return fmt.Sprintf("%#v", v)
}

func (p *printer) dict(v reflect.Value, tabs string) {
	if v.IsNil() {
		p.WriteString("nil")
		return
	}
	values := make(map[string]reflect.Value)
	for k, e := range v.Seq2() {
		var name printer
		name.value(k, "")
		values[name.String()] = e
	}
	names := slices.Sorted(maps.Keys(values))
	p.list(tabs, len(names), func(i int) reflect.Value { return values[names[i]] },
		func(i int) string { return names[i] })
}

func (p *printer) list(tabs string, n int, at func(int) reflect.Value, name func(int) string) {
	p.WriteString("{\n")
	for i := range n {
		p.WriteString(tabs + "\t" + name(i) + ": ")
		p.value(at(i), tabs+"\t")
		p.WriteString("\n")
	}
	p.WriteString(tabs + "}")
}

// lines is the line diff of a and b, with three lines of context at either end.
func lines(a, b []string) string {
	if slices.Equal(a, b) {
		return ""
	}
	steps := text.DiffLines(a, b, 2_000)
	same := func(s text.DiffLine) bool { return s.Kind == ' ' }
	start := slices.IndexFunc(steps, func(s text.DiffLine) bool { return !same(s) })
	end := len(steps)
	for same(steps[end-1]) {
		end--
	}
	var out strings.Builder
	for _, s := range steps[max(0, start-3):min(len(steps), end+3)] {
		from, at := a, s.A
		if s.Kind == '+' {
			from, at = b, s.B
		}
		fmt.Fprintf(&out, "%c %s\n", s.Kind, strings.TrimSuffix(from[at], "\n"))
	}
	return out.String()
}

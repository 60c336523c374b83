// Package diff compares two values in tests and shows where they differ. Values writes
// both as lines of text and returns a line diff; the text decides what is equal.
package diff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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
		p.list(tabs, v.NumField(), func(i int) reflect.Value { return v.Field(i) }, func(i int) string { return v.Type().Field(i).Name })
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
	switch {
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
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
	p.list(tabs, len(names), func(i int) reflect.Value { return values[names[i]] }, func(i int) string { return names[i] })
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

// lines is the line diff of a and b, with three lines of context.
func lines(a, b []string) string {
	if slices.Equal(a, b) {
		return ""
	}
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	write := func(mark string, ls []string) {
		for _, l := range ls {
			out.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	write("  ", a[max(0, start-3):start])
	script(a[start:len(a)-end], b[start:len(b)-end], write)
	write("  ", a[len(a)-end:][:min(3, end)])
	return out.String()
}

// script writes the shortest way from a to b, or simply both if they are very long.
func script(a, b []string, write func(mark string, ls []string)) {
	if len(a)*len(b) > 4_000_000 {
		write("- ", a)
		write("+ ", b)
		return
	}
	common := make([][]int, len(a)+1) // lines that a[i:] and b[j:] have in common
	common[len(a)] = make([]int, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		common[i] = make([]int, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			write("  ", a[i:i+1])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			write("- ", a[i:i+1])
			i++
		default:
			write("+ ", b[j:j+1])
			j++
		}
	}
}

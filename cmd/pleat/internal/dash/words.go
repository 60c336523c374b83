package dash

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/secrets"
	"github.com/pleat-dev/pleat/internal/text"
)

// funcs are what templates call. What comes from a session goes through clean or line.
var funcs = template.FuncMap{
	"n":     func(n reflect.Value) string { return text.Thousands(int(n.Int())) }, // of either kind of tokens
	"short": func(n reflect.Value) string { return text.Short(int(n.Int())) },
	"bytes": text.ByteSize,
	"usd":   dollars,
	"pct":   percent,
	"when":  when,
	"clean": clean,
	"line":  func(s string) string { return line(s, 160) },
	"title": func(s string) string { return line(s, 100) },
	"place": func(path string) string { return line(text.Place(path), 60) },
	"link":  link,
	"share": func(part, of reflect.Value) share { return share{Tokens: int(part.Int()), Of: int(of.Int())} },
	"add":   func(a, b int) int { return a + b },
	"minus": func(a, b int) int { return a - b },
	"many":  text.Plural,
	"pct64": func(part, all int64) string { return percent(int(part), int(all)) },
	// trigger says why an epoch opened.
	"trigger": func(t fold.Trigger) string { return cmp.Or(library.Triggers[t], string(t)) },
	// how says what a lever does.
	"how": func(lever string) string { return library.Levers[lever] },
}

// clean takes the secrets of known shapes out of a text, and what would change how the text
// after it is shown: control characters and those that turn the direction of writing.
func clean(s string) string {
	s = secrets.Redact(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) && r < 0x20:
			return 0x2400 + r // its picture
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, s)
}

// line is a text on one line, cut to so many bytes.
func line(s string, most int) string {
	return text.OneLine(clean(text.CutText(s, 8*most)), most)
}

// sentence writes an error for people.
func sentence(err error) string {
	s := line(err.Error(), 300)
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:] + "."
}

// dollars is an amount, or a dash where none is known.
func dollars(usd float64) string {
	if usd == 0 {
		return "–"
	}
	return text.Cents(usd)
}

// percent is a share for people.
func percent(part, all int) string {
	switch {
	case all <= 0 || part <= 0:
		return "0%"
	case part*100 < all:
		return "<1%"
	}
	return fmt.Sprintf("%d%%", int(float64(part)/float64(all)*100+0.5))
}

func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// link makes the address of a page. Pairs are names and values of its query; pairs without a
// value are left out.
func link(page string, pairs ...any) string {
	q := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := fmt.Sprint(pairs[i+1]); v != "" && v != "0" {
			q.Set(fmt.Sprint(pairs[i]), v)
		}
	}
	u := url.URL{Path: "/", RawQuery: q.Encode()}
	if page != "" {
		u.Path = "/dash/" + page
	}
	return u.String()
}

// pager is where a page of a list stands in it.
type pager struct {
	From, To, All int    // items From ≤ i < To, counted from 0
	Prev, Next    string // addresses; empty: there is none
}

// newPager is the pager of a page with so many items, where a page has size at most.
func newPager(from, items, all, size int, at func(from int) string) pager {
	p := pager{From: from, To: from + items, All: all}
	if from > 0 {
		p.Prev = at(max(from-size, 0))
	}
	if p.To < all {
		p.Next = at(p.To)
	}
	return p
}

// pageOf cuts a list to the page that a request asks for.
func pageOf[T any](list []T, from, size int, at func(from int) string) ([]T, pager) {
	from = max(min(from, len(list)-1), 0) / size * size
	page := list[from:min(from+size, len(list))]
	return page, newPager(from, len(page), len(list), size, at)
}

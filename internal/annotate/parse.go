package annotate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
)

// read returns whose the stretches of a text of a user's message are, all but white space. Only says that an element
// in it holds all that was typed in the message.
func read(txt string) (list []Span, only bool) {
	body := strings.TrimSpace(txt)
	if body == "" {
		return nil, false
	}
	list, ok := quoted(body, User)
	if !ok && isForm(body) {
		list, ok = spanOf(body, Program), true
	}
	if !ok {
		list, only, ok = request(body)
	}
	if !ok {
		list, only = elements(body)
	}
	return shifted(0, strings.Index(txt, body), list), only
}

// request reads a text in which a client's notice, perhaps after elements, precedes what was asked for. Another mark
// may be in what the notice shows.
func request(txt string) (list []Span, only, ok bool) {
	for _, f := range client.All().Requests {
		start := strings.Index(txt, f.Start)
		if start < 0 {
			continue
		}
		if start > 0 && !follows(txt, start) {
			continue
		}
		_, rest, ok := strings.Cut(txt[start:], f.Then)
		asked := len(txt) - len(rest)
		switch {
		case !ok:
		case strings.Contains(rest, f.Then):
			return []Span{{End: start}, {Start: start, End: len(txt), Who: Unsure}}, false, true
		default:
			list, only = read(rest)
			return append([]Span{{End: asked}}, shifted(0, asked, list)...), only, true
		}
	}
	return nil, false, false
}

// follows reports whether a place in a text is after elements alone, in none.
func follows(txt string, place int) bool {
	before, _ := elements(txt[:place])
	all, _ := elements(txt)
	return !has([][]Span{before}, User, Unsure) &&
		slices.ContainsFunc(all, func(s Span) bool { return s.Who == User && s.Start <= place && place < s.End })
}

// tag is an opening or a closing tag, or mark, of a client's element.
type tag struct {
	start, end int
	name       string
	open       bool
}

// element is a client's element in a text, by its tags and by where those are in the list of all.
type element struct {
	opens, shuts tag
	first, last  int
}

// elements reads a text by the elements in it.
func elements(txt string) (out []Span, only bool) {
	tags := tagsIn(txt)
	if len(tags) == 0 {
		return spanOf(txt, User), false
	}
	names := placesOf(tags)
	list, ok := topmost(tags, names)
	if !ok {
		return spanOf(txt, Unsure), false
	}
	whose := User // beside elements
	for _, e := range list {
		if holds()[e.opens.name] == client.Whole {
			if only {
				return spanOf(txt, Unsure), false
			}
			whose, only = Unsure, true
		}
	}
	doubt := repeated(tags, names, list)
	end := 0
	for _, e := range list {
		out = append(out, readOutside(txt, end, e.opens.start, doubt, whose)...)
		out = append(out, Span{Start: e.opens.start, End: e.opens.end})
		in := readInside(txt[e.opens.end:e.shuts.start], e.opens.name)
		for _, s := range shifted(0, e.opens.end, in) {
			own := holds()[e.opens.name] != client.Program
			if s.Who == User && doubt.has(s.Start, e.opens.name, own) {
				s.Who = Unsure
			}
			out = append(out, s)
		}
		out = append(out, Span{Start: e.shuts.start, End: e.shuts.end})
		end = e.shuts.end
	}
	return append(out, readOutside(txt, end, len(txt), doubt, whose)...), only
}

// readInside reads what is in an element.
func readInside(txt, name string) []Span {
	if holds()[name] != client.Program {
		list, _ := read(txt)
		for i := range list {
			if list[i].Who == User {
				list[i].Via = cmp.Or(list[i].Via, client.All().Signs[name])
			}
		}
		return list
	}
	if body := strings.TrimSpace(txt); slices.Contains(client.All().Result.Reminders, name) {
		if list, ok := quoted(body, Unsure); ok {
			return shifted(0, strings.Index(txt, body), list)
		}
	}
	return spanOf(txt, Program)
}

// readOutside reads what is before, between or after elements.
func readOutside(txt string, start, end int, doubt doubts, whose Who) []Span {
	body := strings.TrimSpace(txt[start:end])
	switch {
	case body == "":
		return nil
	case isForm(body) && !strings.Contains(body, "\n"):
		whose = Program
	case doubt.has(start, "", false):
		whose = Unsure
	}
	return shifted(0, start, spanOf(txt[start:end], whose))
}

// places are where a name's first and last tags are in a list.
type places map[string][2]int

func placesOf(tags []tag) places {
	out := make(places)
	for i, t := range tags {
		at, known := out[t.name]
		if !known {
			at[0] = i
		}
		at[1] = i
		out[t.name] = at
	}
	return out
}

// topmost returns the elements of a text that are in no other; false if the tags do not make elements. What is in
// an element may have any tag of a name that has none outside.
func topmost(tags []tag, names places) (list []element, ok bool) {
	for i := 0; i < len(tags); i++ {
		open, broken := make(map[string]bool), make(map[string]bool)
		j := i + 1
		for ; j < len(tags) && tags[j].name != tags[i].name; j++ {
			t := tags[j]
			broken[t.name] = broken[t.name] || t.open == open[t.name]
			open[t.name] = t.open
		}
		if !tags[i].open || j == len(tags) || tags[j].open {
			return nil, false
		}
		for name, at := range names {
			if (open[name] || broken[name]) && (at[0] < i || at[1] > j) {
				return nil, false
			}
		}
		list = append(list, element{tags[i], tags[j], i, j})
		i = j
	}
	return list, true
}

// doubts are where elements of one name begin and end, by their name: between them nobody knows whose words are.
type doubts map[string][2]int

// has reports whether a place is between elements of one name; own leaves out the named one.
func (d doubts) has(place int, name string, own bool) bool {
	for n, at := range d {
		if at[0] <= place && place < at[1] && !(own && n == name) {
			return true
		}
	}
	return false
}

// repeated returns where the text has more than one element of a name, not all in one other.
func repeated(tags []tag, names places, list []element) doubts {
	out := make(doubts)
	for name, at := range names {
		in := func(e element) bool { return e.first <= at[0] && at[1] <= e.last }
		if !slices.ContainsFunc(list, in) {
			out[name] = [2]int{tags[at[0]].start, tags[at[1]].end}
		}
	}
	return out
}

// tagsIn finds the tags of clients' elements. Opening ones begin a line, or follow another tag; closing ones
// count anywhere, where the text has an opening one of their name.
func tagsIn(txt string) []tag {
	var tags []tag
	opened := make(map[string]bool)
	end := 0 // of the last tag
	for at := 0; at < len(txt); at++ {
		i := strings.IndexAny(txt[at:], "<-")
		if i < 0 {
			break
		}
		at += i
		t := tagAt(txt, at)
		if t.end == 0 || t.open && !ownLine(txt[end:at]) {
			continue
		}
		opened[t.name] = opened[t.name] || t.open
		tags = append(tags, t)
		at, end = t.end-1, t.end
	}
	return slices.DeleteFunc(tags, func(t tag) bool { return !opened[t.name] })
}

// tagAt reads the client's tag or mark that begins at a place; its end is 0 if none does.
func tagAt(txt string, at int) tag {
	for _, m := range client.All().Marks {
		if strings.HasPrefix(txt[at:], m.Open) {
			return tag{at, at + len(m.Open), m.Open, true}
		} else if strings.HasPrefix(txt[at:], m.Close) {
			return tag{at, at + len(m.Close), m.Open, false}
		}
	}
	from := at + 1
	shut := strings.HasPrefix(txt[at:], "</")
	if shut {
		from++
	}
	n := from
	for n < len(txt) && n < from+32 && (text.IsLetterByte(txt[n]) || txt[n] == '-' || txt[n] == '_') {
		n++
	}
	name := txt[min(from, len(txt)):n]
	if _, isTag := holds()[name]; !isTag || txt[at] != '<' {
		return tag{}
	}
	switch rest := txt[n:]; {
	case strings.HasPrefix(rest, ">"):
		return tag{at, n + 1, name, !shut}
	case shut || !strings.HasPrefix(rest, " "):
		return tag{}
	default:
		if gt := strings.IndexAny(rest[:min(len(rest), 400)], "<>\n"); gt > 0 && rest[gt] == '>' {
			n += gt + 1
		}
		return tag{at, n, name, true} // what is in its quotes may be anything
	}
}

// ownLine reports whether what follows begins a line, spaces aside.
func ownLine(before string) bool {
	before = strings.TrimRight(before, " \t\r")
	return before == "" || before[len(before)-1] == '\n'
}

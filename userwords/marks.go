package userwords

import (
	"slices"
	"strings"
)

// filesFrom and filesTo are around the files that a client appends because the person named them.
const filesFrom, filesTo = "--- Content from referenced files ---", "--- End of content ---"

func filesEnd(text string) bool { return strings.Contains(text, filesTo) }

// withoutFiles removes such files. Their marks may stand in blocks of their own. A file can hold
// the end mark too: what is between the first and the last is in doubt. Without one, all that
// follows is, unless the mark is a block, as clients write it.
func (r reading) withoutFiles(texts []string) (doubt string) {
	for i, text := range texts {
		rest := texts[i:]
		at, sure := r.filesAt(text, rest[1:])
		if at < 0 {
			continue
		}
		rest[0] = text[at:]
		switch ends := slices.ContainsFunc(rest, filesEnd); {
		case ends && sure:
			doubt = r.upToFirst(rest)
		case !ends && text != filesFrom:
			doubt = strings.TrimPrefix(joined(slices.Clone(rest)), filesFrom)
			fallthrough
		case !ends:
			clear(rest)
		}
		doubt = joined([]string{strings.TrimSpace(doubt), r.upToLast(rest)})
		rest[0] = strings.TrimSpace(text[:at] + rest[0])
		break
	}
	return doubt
}

// upToFirst removes the files up to the first end mark, unless that is in a program's element:
// then the mark before may have been typed, as it may if there is another. Doubt is what is between.
func (r reading) upToFirst(texts []string) (doubt string) {
	i := slices.IndexFunc(texts, filesEnd)
	before, behind, _ := strings.Cut(texts[i], filesTo)
	if list, _ := r.injectedSpans(texts[i]); spanAt(list, len(before)).end > 0 {
		return ""
	}
	files := joined(append(slices.Clone(texts[:i]), before))
	doubt = files[:max(strings.LastIndex(files, filesFrom), 0)]
	clear(texts[:i])
	texts[i] = behind
	return doubt
}

// upToLast removes what is before the last end mark and the end of a program's element that has it.
func (r reading) upToLast(texts []string) (removed string) {
	for i, text := range slices.Backward(texts) {
		at := strings.LastIndex(text, filesTo)
		if at < 0 {
			continue
		}
		list, _ := r.injectedSpans(text)
		end := max(spanAt(list, at).end, at+len(filesTo))
		texts[i] = strings.TrimSpace(strings.TrimSuffix(text[:end], filesTo))
		removed = joined(slices.Clone(texts[:i+1]))
		clear(texts[:i])
		texts[i] = text[end:]
		break
	}
	return removed
}

// filesAt returns where the files begin, -1 if nowhere. It is not sure of a mark in a program's
// element or behind a client's notice: the files begin there if what begins those was typed and a
// file holds what ends them.
func (r reading) filesAt(text string, more []string) (at int, sure bool) {
	_, _, whole := leadingWhole(withoutNotice(text))
	if whole || !strings.Contains(text, filesFrom) || !r.typed && injected(text) {
		return -1, false
	}
	ends := slices.ContainsFunc(more, filesEnd)
	list, _ := r.injectedSpans(text)
	notice, _, request := r.noticeIn(text)
	for at = 0; ; at++ {
		next := strings.Index(text[at:], filesFrom)
		if next < 0 {
			return -1, false
		}
		at += next
		if !ownLine(text[:at]) {
			continue
		}
		begin, from := at, at
		if s := spanAt(list, at); s.end > 0 {
			begin = s.start
		}
		if notice <= begin && begin < request {
			begin, from = notice, request
		}
		if begin == at || ends || filesEnd(text[from:]) {
			return begin, begin == at
		}
	}
}

// notices are what a client puts before what was asked for: lists of files, the editor's state or a
// standing instruction of its own, and the mark behind it. What an editor shows may hold the mark
// too: there the last one counts.
var notices = [...]struct {
	start, mark string
	find        func(text, mark string) int
}{
	{"# Files mentioned by the user:", "\n## My request for Codex:", strings.LastIndex},
	{"# Context from my IDE setup:", "\n## My request for Codex:", strings.LastIndex},
	{"[[PLAN]] I want to create an implementation plan.", "\nMy request:", strings.Index},
}

// typedRequest returns what was asked for behind a client's notice. What is behind another mark or
// before the notice is in doubt, and all of it is if a program's element may hold the mark.
func (r reading) typedRequest(text string) (words, doubt string) {
	at, first, request := r.noticeIn(text)
	if request == 0 {
		return text, ""
	}
	before, _ := reading{typed: true}.typedIn(text[:at])
	list, _ := r.injectedSpans(text)
	if spanAt(list, request-1).end > 0 {
		return "", joined([]string{before, strings.TrimSpace(text[at:])})
	}
	other := text[first:request]
	other = strings.TrimSpace(other[:max(strings.LastIndexByte(other, '\n'), 0)])
	return strings.TrimSpace(text[request:]), joined([]string{before, other})
}

// noticeIn returns where a client's notice begins, and where the first and the last of its marks
// end: 0 if there is none. A program's element may hold one as well, which is not the client's.
func (r reading) noticeIn(text string) (at, first, last int) {
	var list []element
	for _, s := range notices {
		for from := 0; ; from++ {
			// The notice may follow a one-line element such as the time.
			next := strings.Index(text[from:max(from, min(len(text), 400))], s.start)
			if next < 0 {
				break
			}
			if from += next; from > 0 && text[from-1] != '\n' || last > 0 && at < from {
				continue
			}
			if list == nil {
				list, _ = r.injectedSpans(text)
			}
			mark := strings.Index(text[from:], s.mark)
			if mark < 0 || spanAt(list, from).end > 0 {
				continue
			}
			at, first, last = from, from+mark+len(s.mark), from+s.find(text[from:], s.mark)+len(s.mark)
			break
		}
	}
	return at, first, last
}

package secrets

import (
	"regexp"
	"strings"
)

const (
	keyBegin = `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`
	keyEnd   = `-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`
	keyChars = `[A-Za-z0-9+/=]`
	// What others put around the lines of a key: quotes, a quotation's or a diff's mark, the number that
	// a tool shows, with a file's name or without.
	beforeKey = "^[ \t>|+\"'`-]*(?:[^\\s<>]*[0-9][ \t]*(?:→|│|[:| \t-])[ \t]*)?"
	afterKey  = "[ \t\"'`\\\\,;+]*$"
	keyMark   = "[redacted private key]"
)

var (
	keyBreak = regexp.MustCompile(`(?:\\+r)?\\+n|\r?\n|\r`) // also written as an escape
	flatKey  = regexp.MustCompile(keyBegin + `(?: ?` + keyChars + `{24,})+(?: ?` + keyChars + `+)?(?: ?` + keyEnd + `)?`)
	begins   = regexp.MustCompile(keyBegin + afterKey)
	ends     = regexp.MustCompile(beforeKey + `(` + keyEnd + `)`)
	material = regexp.MustCompile(beforeKey + `(` + keyChars + `*)` + afterKey)
	keyField = regexp.MustCompile(beforeKey + `(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): `)
	derStart = regexp.MustCompile(`^M[A-P]` + keyChars + `*[a-z]`) // a sequence, as keys of most kinds are
)

// redactKeys takes out private keys: what stands between the lines that begin and end one, if it is
// nothing else. Of one that was cut, it takes the lines that are surely part of it, after where it
// begins or before where it ends. So a text that only names these lines stays whole, and nothing that
// stands before or after a key goes with it.
func redactKeys(text string) string {
	if !strings.Contains(text, "PRIVATE KEY") {
		return text
	}
	k := keyFinder{text: flatKey.ReplaceAllString(text, keyMark), from: -1}
	at := 0
	for _, brk := range append(keyBreak.FindAllStringIndex(k.text, -1), []int{len(k.text), len(k.text)}) {
		k.line(at, brk[0])
		at = brk[1]
	}
	k.stop(k.sure)
	return k.out.String() + k.text[k.done:]
}

// keyFinder reads a text line by line. A key may be open: it has been read up to here.
type keyFinder struct {
	text string
	out  strings.Builder // what is kept of the text
	done int             // bytes of the text that out stands for
	from int             // where the open key begins; -1: none is open
	sure int             // where it ends at least; 0: nothing is sure to be a key
	some bool            // it has lines
	// headless: the line that begins it is missing.
	headless bool
}

func (k *keyFinder) line(start, end int) {
	line := k.text[start:end]
	if m := material.FindStringSubmatchIndex(line); m != nil {
		part := line[m[2]:m[3]]
		switch {
		case !surelyKey(part):
		case k.from < 0: // where it begins is missing: only an end makes it a key
			k.from, k.headless = start+m[2], true
		case !k.headless:
			k.sure = start + m[3]
		}
		k.some = k.some || part != ""
		return
	}
	if keyField.MatchString(line) {
		return
	}
	if m := ends.FindStringSubmatchIndex(line); m != nil && k.from >= 0 && k.some {
		k.stop(start + m[3])
	} else {
		k.stop(k.sure)
	}
	if m := begins.FindStringIndex(k.text[max(start, k.done):end]); m != nil {
		k.from = max(start, k.done) + m[0]
	}
}

// stop leaves the open key out of the text, up to a place.
func (k *keyFinder) stop(to int) {
	if k.from >= 0 && to > k.from {
		k.out.WriteString(k.text[k.done:k.from] + keyMark)
		k.done = to
	}
	k.from, k.sure, k.some, k.headless = -1, 0, false, false
}

// surelyKey reports whether a word is part of a key and no word of a language: it is very long, has
// letters of both cases and digits, or begins as keys do.
func surelyKey(word string) bool {
	return len(word) >= 40 || derStart.MatchString(word) ||
		len(word) >= 16 && strings.ContainsAny(word, "0123456789+") &&
			strings.ToLower(word) != word && strings.ToUpper(word) != word
}

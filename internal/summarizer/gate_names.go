package summarizer

import (
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// nameKind is what a name in a digest is.
type nameKind uint8

const (
	nameWord   nameKind = iota // an identifier, or a file without its directory
	namePath                   // with its directories
	nameURL                    // with its scheme
	nameHex                    // a hash or its beginning
	nameNumber                 // in its normal form
)

type gateName struct {
	kind       nameKind
	text       string
	start, end int
	ref        bool // the number of a message or call
	tail       bool // only the end of a name: …CustomTools
}

// namesIn finds the names of a text that have to occur in the conversation: paths, files,
// URLs, hashes, words that look like identifiers, and exact numbers: with three digits and
// more, with a fraction, with a unit.
func namesIn(txt string) []gateName {
	var list []gateName
	done := 0
	for _, ref := range refsIn(txt) {
		list = appendTokens(list, txt, done, ref[0])
		for _, at := range digitRun.FindAllStringIndex(txt[ref[0]:ref[1]], -1) {
			start, end := ref[0]+at[0], ref[0]+at[1]
			list = append(list, gateName{kind: nameNumber, text: txt[start:end], start: start, end: end, ref: true})
		}
		done = ref[1]
	}
	return appendTokens(list, txt, done, len(txt))
}

// refsIn finds the numbers of messages and calls in a sentence: after such a word, and, if
// the sentence has one, after a # or alone in brackets. Other numbers are written like that
// too: issues, codes, counts.
func refsIn(txt string) [][]int {
	if refWord.MatchString(txt) {
		return anyRef.FindAllStringIndex(txt, -1)
	}
	return namedRef.FindAllStringIndex(txt, -1)
}

const (
	refWords = `(?:messages?|msgs?|calls?|turns?)`
	refMore  = `\d+\b(?:(?:[\s,&/–-]|\b(?:and|to|or)\b)+[#m]?\d+\b)*`
	refAlone = `[(\[]#?\d+(?:[\s,&/–-]+#?\d+)*[)\]]`
)

var (
	refWord  = regexp.MustCompile(`(?i)\b(?:(?:messages?|msgs?|calls?)(?:\b|\d)|turns?[ .]?#?\d)`) // it turns out
	namedRef = regexp.MustCompile(`(?i)\b(?:` + refWords + `[ .]?#?|m)` + refMore)
	anyRef   = regexp.MustCompile(`(?i)(?:\b(?:` + refWords + `[ .]?#?|m)|#)` + refMore + `|` + refAlone)
	digitRun = regexp.MustCompile(`\d+`)
)

// What names are made of: words, joined by what joins the parts of paths, URLs, versions and
// numbers. An atom is a part of a token that is neither path nor URL.
var (
	tokenText = regexp.MustCompile(`[\pL\pN\pM_/~.]+(?:[-:@+\\=?&%][\pL\pN_/\\][\pL\pN\pM_/~.]*|,\d{3}\b)*%?`)
	atomText  = regexp.MustCompile(`[\pL\pN\pM_]+(?:[.,-][\pL\pN\pM_]+)*%?`)
	// A number, perhaps with a unit, a version, a date or a range: not an id that begins with a digit.
	numberText = regexp.MustCompile(`^(\d[\d.,_-]*?)[._,-]*((?:[A-Za-z]{0,3}|(?:token|byte|line)\w*)%?)$`)
	fileText   = regexp.MustCompile(`^.{2,}\.[a-z0-9]{1,5}$`)
)

// appendTokens appends the names between two places of a text.
func appendTokens(list []gateName, txt string, start, end int) []gateName {
	lines := -1 // where a file's lines may go on: main.go:95,198,201
	for _, at := range tokenText.FindAllStringIndex(txt[start:end], -1) {
		from, to := start+at[0], start+at[1]
		code := strings.Count(txt[:from], "`")%2 == 1
		t := strings.TrimRight(txt[from:to], ".:-+=?&")
		if strings.HasPrefix(txt[to:], "#") { // red/green/#ff00ff
			t = strings.TrimRight(t, "/")
		}
		path, _, _ := strings.Cut(t, ":")
		switch to = from + len(t); {
		case strings.Trim(t, "./~") == "":
		case strings.Contains(t, "://"):
			list = append(list, gateName{kind: nameURL, text: strings.TrimRight(t, "/"), start: from, end: to})
		case strings.Contains(t, "/") && isPathText(t, code):
			list = append(list, gateName{kind: namePath, text: path, start: from, end: from + len(path)})
			list = appendLines(list, txt, from+len(path), to, code)
			lines = to
		case isFileName(path):
			list = appendAtoms(list, txt, from, from+len(path), code)
			list = appendLines(list, txt, from+len(path), to, code)
			lines = to
		case lines >= 0 && txt[lines:from] == ",":
			list = appendLines(list, txt, from, to, code)
			lines = to
		default:
			list = appendAtoms(list, txt, from, to, code)
		}
	}
	return list
}

// appendLines appends the lines that follow a file's name.
func appendLines(list []gateName, txt string, start, end int, code bool) []gateName {
	for line := range strings.SplitSeq(txt[start:end], ",") {
		list = appendAtoms(list, txt, start, start+len(line), code)
		start += len(line) + len(",")
	}
	return list
}

var rooted = regexp.MustCompile(`^(?:\.{0,2}|~)/`)

// isPathText tells paths from alternatives such as and/or: a path begins like one, or one
// of its elements has a dot or an underscore, or it is in code.
func isPathText(t string, code bool) bool {
	if i := strings.IndexByte(t, ':'); i > 0 {
		t = t[:i]
	}
	if !strings.ContainsFunc(t, text.IsLetterRune) {
		return false // 1/2, 24/7
	}
	if rooted.MatchString(t) {
		return strings.Count(t, "/") > 1 || code || strings.ContainsAny(t, "._-0123456789")
	}
	if code {
		return true
	}
	for el := range strings.SplitSeq(t, "/") {
		if el == "" {
			return strings.HasSuffix(t, "/") && strings.Count(t, "/") > 1
		}
		if strings.ContainsAny(el, "._") && len(el) > 2 {
			return true
		}
	}
	return false
}

// appendAtoms appends the names of a token, or of a part of it, that is neither path nor URL.
func appendAtoms(list []gateName, txt string, start, end int, code bool) []gateName {
	for _, at := range atomText.FindAllStringIndex(txt[start:end], -1) {
		n := gateName{text: txt[start+at[0] : start+at[1]], start: start + at[0], end: start + at[1]}
		n.tail = strings.HasSuffix(txt[:n.start], "…")
		word := strings.TrimSuffix(n.text, "%")
		called := strings.HasPrefix(txt[n.end:], "(")
		if m := numberText.FindStringSubmatch(n.text); m != nil {
			list = appendNumbers(list, n, m[1], m[2])
			continue
		}
		switch {
		case len(word) >= 7 && text.IsHex(word) && strings.ContainsFunc(word, text.IsLetterRune):
			n.kind = nameHex
		case versionText.MatchString(word):
			n.text = word[1:]
		case !isFileName(word) && !isIdentifier(word, code || called):
			continue
		}
		list = append(list, n)
	}
	return list
}

var versionText = regexp.MustCompile(`^[vV]\d.*\.`)

// appendNumbers appends the numbers of a token that have to be exact.
func appendNumbers(list []gateName, n gateName, digits, unit string) []gateName {
	n.kind = nameNumber
	for part := range strings.SplitSeq(digits, "-") {
		n.text = normalNumber(part)
		exact := strings.Contains(n.text, ".") || len(n.text) >= 3 || unit != "" && !inexact[unit]
		if n.text == "" || !exact {
			continue
		}
		if strings.EqualFold(unit, "k") {
			n.text += "k"
		}
		list = append(list, n)
	}
	return list
}

// inexact are endings of numbers that need not be exact.
var inexact = text.WordSet("st nd rd th x s D d")

// normalNumber drops what separates thousands. A version keeps its dots.
func normalNumber(s string) string {
	return separators.Replace(strings.Trim(s, ".,_-"))
}

var separators = strings.NewReplacer(",", "", "_", "")

// isFileName reports whether a word is a file by its ending.
func isFileName(t string) bool { return fileText.MatchString(t) && !text.IsNumber(t) }

// isIdentifier reports whether a word is a name of the work: by an underscore, by digits
// among letters, or, in code, by its capitals.
func isIdentifier(t string, code bool) bool {
	var seen, last uint8
	camel := false
	for i := range len(t) {
		c := text.ByteClass[t[i]]
		if t[i] >= 0x80 {
			return false
		}
		camel = camel || c == text.ByteUpper && last&(text.ByteLower|text.ByteDigit) != 0
		seen |= c
		last = c
	}
	letters := seen&(text.ByteLower|text.ByteUpper) != 0
	switch {
	case len(t) < 4 || len(t) > text.MaxAnchor || !letters:
		return false
	case strings.Contains(strings.Trim(t, "_"), "_"):
		return true
	case seen&text.ByteDigit != 0:
		return !commonTerm[strings.ToLower(t)]
	}
	return code && camel
}

// commonTerm has words with digits in them that anybody may use.
var commonTerm = text.WordSet(`utf8 utf-8 utf16 utf-16 sha1 sha-1 sha256 sha-256 sha512 md5sum base64 http2 http1 oauth2
	ipv4 ipv6 int32 int64 uint8 uint32 uint64 float32 float64 x86_64 amd64 arm64 es6 h264 python3 iso8601 rfc3339 win32
	log4j i18n l10n a11y off-by-1`)

package summarizer

import (
	"regexp"
	"strings"

	"github.com/pleat-dev/pleat/internal/text"
)

// literalKind is how a literal is looked up in the conversation.
type literalKind uint8

const (
	literalWord   literalKind = iota // an identifier, or a file without its directory
	literalPath                      // with its directories
	literalURL                       // with its scheme
	literalHex                       // a hash or its beginning
	literalNumber                    // perhaps of thousands
	literalLines                     // numbers behind a file: main.go:95,198,201
	literalRef                       // the number of a message or call
	literalEnd                       // only the end of a name: …CustomTools
)

// A literal is what a digest has to copy from the conversation.
type literal struct {
	kind       literalKind
	text       string
	start, end int
}

// What literals are made of: words, joined by what joins the parts of paths, URLs, versions and numbers. An
// atom is a part of a token that is neither URL nor path nor file.
var (
	tokenText = regexp.MustCompile(`[A-Za-z][\w+.-]*://[^\s()<>"',;` + "`" + `\]]+|` +
		`[\pL\pN\pM_/~.]+(?:[-@+\\][\pL\pN_/\\][\pL\pN\pM_/~.]*|,\d{3}\b)*%?`)
	atomText = regexp.MustCompile(`[\pL\pN\pM_]+(?:[.,][\pL\pN\pM_]+)*%?`)
	// A number, perhaps with a unit, or a version: not an id that begins with a digit.
	numberText = regexp.MustCompile(`^[vV]?(\d[\d.,_]*?)[._,]*((?:[A-Za-z]{0,3}|(?:token|byte|line)\w*)%?)$`)
	rooted     = regexp.MustCompile(`^(?:\.{0,2}|~)/`)
)

// The numbers of messages and calls, as the prompt asks for them and in words: m12, #7, calls 7 and 9. The numbers
// of issues are written like that too.
var (
	refText = regexp.MustCompile(`(?i)(\b(?:issue|pr|bug|ticket|request)s?[ :]*)?` +
		`(?:\b(?:messages?|msgs?|calls?|turns?)[ .(]*#?|\bm|#)\d+\b(?:(?:[\s,&/–-]|\b(?:and|to|or)\b)+[#m]?\d+\b)*`)
	digitRun = regexp.MustCompile(`\d+`)
)

// literalsIn finds what of a text has to occur in the conversation: paths, files, URLs, hashes, words that look
// like identifiers, and exact numbers: with three digits and more, with a fraction, with a unit.
func literalsIn(txt string) (list []literal) {
	done := 0
	for _, ref := range refText.FindAllStringSubmatchIndex(txt, -1) {
		if ref[2] >= 0 {
			continue
		}
		list = appendTokens(list, txt, done, ref[0])
		for _, at := range digitRun.FindAllStringIndex(txt[ref[0]:ref[1]], -1) {
			start, end := ref[0]+at[0], ref[0]+at[1]
			list = append(list, literal{kind: literalRef, text: txt[start:end], start: start, end: end})
		}
		done = ref[1]
	}
	return appendTokens(list, txt, done, len(txt))
}

// appendTokens appends the literals between two places of a text.
func appendTokens(list []literal, txt string, start, end int) []literal {
	for _, at := range tokenText.FindAllStringIndex(txt[start:end], -1) {
		from, to := start+at[0], start+at[1]
		code := strings.Count(txt[:from], "`")%2 == 1
		l := literal{text: strings.TrimRight(txt[from:to], ".-+=?&:"), start: from}
		if strings.HasPrefix(txt[to:], "#") { // red/green/#ff00ff
			l.text = strings.TrimRight(l.text, "/")
		}
		l.end = from + len(l.text)
		switch {
		case strings.Trim(l.text, "./~") == "":
			continue
		case strings.Contains(l.text, "://"):
			l.kind, l.text = literalURL, strings.TrimRight(l.text, "/")
		case isPath(l.text, code):
			l.kind = literalPath
		case !isFile(l.text):
			list = appendAtoms(list, txt, from, l.end, code)
			continue
		}
		list = append(list, l)
	}
	return list
}

// isPath tells paths from alternatives such as and/or: a path begins like one, or one of its elements has a dot
// or an underscore, or it is in code.
func isPath(t string, code bool) bool {
	inside := strings.TrimLeft(t, "./~")
	switch {
	case !strings.Contains(t, "/") || !strings.ContainsFunc(t, text.IsLetterRune): // 1/2, 24/7
		return false
	case code:
		return true
	case rooted.MatchString(t):
		return strings.ContainsAny(inside, "/._-0123456789")
	case strings.HasSuffix(t, "/"):
		return strings.Count(t, "/") > 1
	}
	for el := range strings.SplitSeq(t, "/") {
		if strings.ContainsAny(el, "._") && len(el) > 2 {
			return true
		}
	}
	return false
}

// appendAtoms appends the literals of a token that is neither URL nor path nor file.
func appendAtoms(list []literal, txt string, start, end int, code bool) []literal {
	for _, at := range atomText.FindAllStringIndex(txt[start:end], -1) {
		l := literal{text: txt[start+at[0] : start+at[1]], start: start + at[0], end: start + at[1]}
		word := strings.TrimSuffix(l.text, "%")
		number := numberText.FindStringSubmatch(l.text)
		switch {
		case number != nil:
			digits, unit := number[1], number[2]
			if len(digits) < 3 && !strings.Contains(digits, ".") && (unit == "" || inexact[unit]) {
				continue
			}
			if l.kind, l.text = literalNumber, digits; start > 0 && txt[start-1] == ':' {
				l.kind = literalLines
			}
			if strings.EqualFold(unit, "k") {
				l.text += "k"
			}
		case len(word) >= 7 && text.IsHex(word) && strings.ContainsFunc(word, text.IsLetterRune):
			l.kind = literalHex
		case !isIdentifier(word, code || strings.HasPrefix(txt[l.end:], "(")):
			continue
		case strings.HasSuffix(txt[:l.start], "…"):
			l.kind = literalEnd
		}
		list = append(list, l)
	}
	return list
}

// inexact are endings of numbers that need not be exact.
var inexact = text.WordSet("st nd rd th x s D d")

// isFile reports whether a word is a file by its ending. Other words with a dot are members: config.width.
func isFile(t string) bool {
	dot := strings.LastIndexByte(t, '.')
	return dot > 1 && fileEndings[strings.ToLower(t[dot+1:])]
}

var fileEndings = text.WordSet(`bash bat c cc cfg cjs conf cpp cs css csv cts db dockerfile env ex exs fish go gradle h
	hbs hpp hs html ini ipynb java jpeg jpg js json json5 jsonl jsx kt lock log lua md mdx mjs mod mts nix patch pdf php
	pl plist png proto ps1 py pyi rb rs rst sass scala scss sh sol sql sqlite sum svelte svg swift tf tmpl toml ts tsv tsx
	txt vue wasm xml yaml yml zig zip zsh`)

// isIdentifier reports whether a word is a name of the work: by an underscore, by digits among letters, or, in
// code, by its capitals.
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
	switch {
	case len(t) < 4 || len(t) > text.MaxAnchor || seen&(text.ByteLower|text.ByteUpper) == 0:
		return false
	case strings.Contains(strings.Trim(t, "_"), "_"):
		return true
	case seen&text.ByteDigit != 0:
		return !commonTerm[strings.ToLower(t)]
	}
	return code && camel
}

// commonTerm has words with digits in them that anybody may use.
var commonTerm = text.WordSet(`utf8 utf16 sha1 sha256 sha512 md5sum base64 http2 http1 oauth2 ipv4 ipv6 int32 int64
	uint8 uint32 uint64 float32 float64 x86_64 amd64 arm64 h264 python3 iso8601 rfc3339 win32 log4j i18n l10n a11y`)

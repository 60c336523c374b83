package synth

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// synthProject is the small world that a session works on.
type synthProject struct {
	name, org, root string
	lang            *synthLanguage
	nouns, verbs    []string
	people          []string
	files           []*synthFile
	dirs            []string
	recent          []*synthFile // what the agent works on, newest last
	frozen          []string     // directories that nobody may change at the moment
	busy            string       // the directory that is about to be changed: no new rule forbids it
	fns, types      []lit
	consts          []lit
}

// synthFile is a file of the project.
type synthFile struct {
	path    lit
	lines   []phrase
	tests   []lit // test functions in it
	fns     []lit
	testOf  *synthFile
	extra   string // what it is, if it is no source
	exists  bool
	truth   FileTruth
	touched bool
	reads   []int // calls whose result shows the file as it is
}

func (f *synthFile) content() string {
	var b strings.Builder
	for _, l := range f.lines {
		b.WriteString(l.s)
		b.WriteByte('\n')
	}
	return b.String()
}

// synthLanguage is how a project's files look and how its tests run.
type synthLanguage struct {
	ext      string
	body     []string
	fn       func(verb, noun, noun2 string) string
	constant func(noun, noun2 string) string
	testName func(fn string) string
	file     func(noun, noun2 string) string
	testFile func(base string) string
}

var synthLanguages = []*synthLanguage{
	{
		ext: ".go", body: goBody,
		fn:       func(v, n, m string) string { return v + capital(n) + capital(m) },
		constant: func(n, m string) string { return "max" + capital(n) + capital(m) },
		testName: func(fn string) string { return "Test" + capital(fn) },
		file:     func(n, m string) string { return n + "_" + m + ".go" },
		testFile: func(b string) string { return strings.TrimSuffix(b, ".go") + "_test.go" },
	},
	{
		ext: ".py", body: pyBody,
		fn:       func(v, n, m string) string { return v + "_" + n + "_" + m },
		constant: func(n, m string) string { return "MAX_" + strings.ToUpper(n+"_"+m) },
		testName: func(fn string) string { return "test_" + fn },
		file:     func(n, m string) string { return n + "_" + m + ".py" },
		testFile: func(b string) string { return "test_" + b },
	},
	{
		ext: ".ts", body: tsBody,
		fn:       func(v, n, m string) string { return v + capital(n) + capital(m) },
		constant: func(n, m string) string { return "MAX_" + strings.ToUpper(n+"_"+m) },
		testName: func(fn string) string { return "should_" + fn },
		file:     func(n, m string) string { return n + capital(m) + ".ts" },
		testFile: func(b string) string { return strings.TrimSuffix(b, ".ts") + ".test.ts" },
	},
}

func capital(w string) string { return strings.ToUpper(w[:1]) + w[1:] }

// past and third are forms of the regular verbs that projects are made of.
func past(verb string) string {
	switch stem, y := strings.CutSuffix(verb, "y"); {
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ied"
	case strings.HasSuffix(verb, "e"):
		return verb + "d"
	}
	return verb + "ed"
}

func third(verb string) string {
	stem, y := strings.CutSuffix(verb, "y")
	switch {
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		return stem + "ies"
	case strings.HasSuffix(verb, "sh") || strings.HasSuffix(verb, "ch") || strings.HasSuffix(verb, "s") ||
		strings.HasSuffix(verb, "x"):
		return verb + "es"
	}
	return verb + "s"
}

func pickOne[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// drawSome takes n different elements.
func drawSome[T any](r *rand.Rand, list []T, n int) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

func (s *synth) chance(percent int) bool { return s.r.IntN(100) < percent }

// between draws a number from lo to hi, both included.
func (s *synth) between(lo, hi int) int { return lo + s.r.IntN(hi-lo+1) }

// size draws the length of an output in lines. Short sessions have no very long ones.
func (s *synth) size(lo, hi int) int { return s.between(lo, max(lo, min(hi, s.o.Tokens/400))) }

func (s *synth) coin(syllables int) string {
	var b strings.Builder
	for range syllables {
		b.WriteString(pickOne(s.r, synthSyllable))
	}
	return b.String()
}

func (s *synth) hex(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[s.r.IntN(16)]
	}
	b[s.r.IntN(n)] = "abcdef"[s.r.IntN(6)] // never a number
	return string(b)
}

// word is what a name in a template stands for, nil if it is no name.
func (s *synth) word(name string) any {
	p := &s.p
	switch name {
	case "noun", "noun2", "noun3", "v", "w":
		return pickOne(s.r, p.nouns)
	case "Noun", "Noun2":
		return capital(pickOne(s.r, p.nouns))
	case "verb", "verb2":
		return pickOne(s.r, p.verbs)
	case "verbed":
		return past(pickOne(s.r, p.verbs))
	case "verbs":
		return third(pickOne(s.r, p.verbs))
	case "adj":
		return pickOne(s.r, synthAdj)
	case "n":
		return s.between(2, 9)
	case "nn", "nn2":
		return s.between(10, 99)
	case "nnn", "nnn2":
		return s.between(100, 999)
	case "nnnn", "nnnn2":
		return s.between(1000, 9999)
	case "f2", "f2b":
		return fmt.Sprintf("%d.%02d", s.r.IntN(90), s.r.IntN(100))
	case "hex7":
		return s.hex(7)
	case "hex40":
		return s.hex(40)
	case "hex12":
		return s.hex(12)
	case "uuid":
		return s.hex(8) + "-" + s.hex(4) + "-4" + s.hex(3) + "-a" + s.hex(3) + "-" + s.hex(12)
	case "ts":
		return s.now.Add(-s.jitter(600)).Format("2006-01-02T15:04:05.000Z")
	case "day":
		return s.now.Format("2006-01-02")
	case "proj":
		return p.name
	case "org":
		return p.org
	case "root":
		return p.root
	case "person":
		return pickOne(s.r, p.people)
	case "team":
		return pickOne(s.r, synthTeams)
	case "lib":
		return pickOne(s.r, synthLibs)
	case "fn", "fn2":
		return s.name(classFn, p.fns)
	case "type":
		return s.name(classType, p.types)
	case "const":
		return s.name(classConst, p.consts)
	case "dir":
		return pickOne(s.r, p.dirs)
	}
	return nil
}

// nameClass tells names apart that stand in different places of a sentence.
type nameClass uint8

const (
	noClass nameClass = iota
	classFn
	classType
	classConst
)

// name chooses a name. An agent speaks of what it has seen, of late or at any time before;
// files that are being made may use any.
func (s *synth) name(class nameClass, all []lit) lit {
	seen := s.seen[class-1]
	switch {
	case s.code > 0 || len(seen) == 0:
		return pickOne(s.r, all)
	case s.chance(55):
		return pickOne(s.r, seen[max(len(seen)-40, 0):])
	}
	return pickOne(s.r, seen)
}

// nameOf chooses a function of a file that the agent has seen, else any.
func (s *synth) nameOf(f *synthFile) lit {
	var known []lit
	for _, fn := range f.fns {
		if s.lits[fn.id].First >= 0 {
			known = append(known, fn)
		}
	}
	if len(known) == 0 {
		return s.name(classFn, s.p.fns)
	}
	return pickOne(s.r, known)
}

// newName makes a name of a class.
func (s *synth) newName(class nameClass, draw func() string) lit {
	l := s.lit(LiteralName, s.fresh(draw))
	s.lits[l.id].class = class
	return l
}

// newProject makes the files that are there when a session begins.
func (s *synth) newProject() {
	p := &s.p
	p.lang = pickOne(s.r, synthLanguages)
	if s.o.Kind == Data && s.chance(75) {
		p.lang = synthLanguages[1]
	}
	p.name, p.org = s.coin(3), s.coin(2)
	p.root = pickOne(
		s.r,
		[]string{
			"/home/" + strings.ToLower(pickOne(s.r, synthPeople)) + "/src/",
			"/Users/" + strings.ToLower(pickOne(s.r, synthPeople)) + "/code/",
			"/workspaces/",
		},
	) + p.name
	p.nouns, p.verbs, p.people = drawSome(s.r, synthNouns, 26), drawSome(
		s.r, synthVerbs, 18,
	), drawSome(s.r, synthPeople, 4)
	top := pickOne(s.r, []string{"internal/", "pkg/", "src/", "lib/"})
	for _, d := range drawSome(s.r, p.nouns, 4+min(s.o.Tokens/60_000, 8)) {
		p.dirs = append(p.dirs, top+d)
	}
	for range 12 {
		p.types = append(p.types, s.newType())
		p.consts = append(p.consts, s.newConst())
		p.fns = append(p.fns, s.newFn())
	}
	for range 14 + s.o.Tokens/6_000 {
		f := s.newFile(pickOne(s.r, p.dirs))
		f.exists, f.truth.Before = true, f.content()
		if s.chance(60) {
			s.newTestFile(f)
			t := p.files[len(p.files)-1]
			t.exists, t.truth.Before = true, t.content()
		}
	}
}

func (s *synth) newFn() lit {
	return s.newName(classFn, func() string {
		return s.p.lang.fn(pickOne(s.r, s.p.verbs), pickOne(s.r, s.p.nouns), pickOne(s.r, s.p.nouns))
	})
}

func (s *synth) newType() lit {
	return s.newName(classType, func() string {
		return capital(pickOne(s.r, s.p.nouns)) + capital(pickOne(s.r, s.p.nouns)) + pickOne(s.r, synthRoles)
	})
}

func (s *synth) newConst() lit {
	return s.newName(classConst, func() string {
		return s.p.lang.constant(pickOne(s.r, s.p.nouns), pickOne(s.r, s.p.nouns))
	})
}

// newPath makes a path whose last element no other file has.
func (s *synth) newPath(dir string, base func() string) lit {
	return s.lit(LiteralPath, dir+"/"+s.fresh(base))
}

// newFile makes a source file. It is not on disk yet.
func (s *synth) newFile(dir string) *synthFile {
	lang := s.p.lang
	f := &synthFile{}
	f.path = s.newPath(dir, func() string {
		return lang.file(pickOne(s.r, s.p.nouns), pickOne(s.r, s.p.nouns))
	})
	typ, constant := s.newType(), s.newConst()
	s.p.types, s.p.consts = append(s.p.types, typ), append(s.p.consts, constant)
	functions := s.between(2, 6)
	if s.chance(12) && s.o.Tokens >= 64_000 { // the long tail
		functions = s.between(10, 30)
	}
	for range functions {
		f.fns = append(f.fns, s.newFn())
	}
	s.p.fns = append(s.p.fns, f.fns...)
	f.lines = s.source(f, typ, constant)
	f.truth.Path = f.path.s
	s.p.files = append(s.p.files, f)
	return f
}

// newTestFile makes the tests of a file.
func (s *synth) newTestFile(of *synthFile) *synthFile {
	lang := s.p.lang
	f := &synthFile{testOf: of}
	base := lang.testFile(path.Base(of.path.s))
	dir := path.Dir(of.path.s)
	if lang.ext == ".py" {
		dir = "tests"
	}
	f.path = s.lit(LiteralPath, dir+"/"+base)
	for _, fn := range of.fns[:min(len(of.fns), s.between(2, 5))] {
		f.tests = append(f.tests, s.lit(LiteralName, lang.testName(fn.s)))
	}
	f.lines = s.testCode(f)
	f.truth.Path = f.path.s
	s.p.files = append(s.p.files, f)
	return f
}

package agent

import (
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
)

// spelled is what a command line runs, as far as its text says so. It is for rules that
// deny, so it errs on the side of too much.
type spelled struct {
	texts []string // the commands with one space between words; anything stands for what is not spelled out
	hides bool     // it runs something that the text does not show
	count int      // of commands
	depth int
}

// anything stands in a command's text for what only the shell knows: variables,
// substitutions, patterns for files.
const anything = "\x00"

// What is read of a line at most. A longer line hides something.
const (
	maxSpelled   = shell.MaxScript
	spelledDepth = 6
	spelledMost  = 10_000 // commands
	longCommand  = 4 << 10
)

// spell reads a command line twice: as the shell does, and from every place where a command
// might begin, quoted or not. The second reading finds commands that are given to a program as text.
func spell(line string) *spelled {
	s := new(spelled)
	s.script(line)
	s.hides = s.hides || s.count >= spelledMost
	return s
}

func (s *spelled) script(line string) {
	if len(line) > maxSpelled || s.depth == spelledDepth || strings.ContainsAny(line, "\x00\r") {
		s.hides = true
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	parsed := shell.Parse(line, false)
	s.hides = s.hides || parsed.Cut || parsed.Broken
	for _, c := range parsed.Commands {
		s.command(c.Words, c.Heredoc, false, false)
	}
	for i := range len(line) {
		if strings.IndexByte(";|&\n(){}`", line[i]) >= 0 {
			rest := line[i+1:]
			c := shell.First(rest[:min(len(rest), longCommand)])
			s.command(c.Words, c.Heredoc, true, false)
		}
	}
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_]\w*(\[[^\]]*\])?\+?=`)
	number     = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
	quoted     = regexp.MustCompile("^('[^']*'|\"[^\"$`]*\")$")
	// runners run the command in their arguments, or a text as a script.
	runners = strings.Fields(`env command builtin exec eval trap alias time coproc nohup nice ionice setsid stdbuf timeout
		sudo doas su runuser chroot unshare nsenter setpriv taskset chrt flock strace ltrace script watch parallel xargs
		busybox toybox ssh systemd-run fakeroot entr unbuffer start mapfile readarray compgen complete ` + shells)
	shells = `sh bash dash zsh ksh mksh ash fish rbash`
)

// command takes in a simple command. A loose one was perhaps only part of a text: whatever
// it seems to hide does not count. A run one is what is left of a runner's words, all of
// which are taken in.
func (s *spelled) command(words []shell.Word, stdin string, loose, run bool) {
	for len(words) > 0 && assignment.MatchString(words[0].Raw) {
		s.hides = s.hides || strings.HasPrefix(words[0].Raw, "BASH_ALIASES")
		words = words[1:]
	}
	if s.count++; len(words) == 0 || s.count > spelledMost {
		return
	}
	first := words[0].Text
	pattern := unknown(words[0]) || strings.HasSuffix(first, "@") || strings.HasSuffix(first, "+")
	if pattern && first != "[" && first != "[[" {
		s.hides = s.hides || !loose
		return
	}
	rest := ""
	for _, w := range words[1:] {
		rest += " " + wordText(w)
	}
	name := strings.TrimSuffix(strings.ToLower(first[strings.LastIndexAny(first, `/\`)+1:]), ".exe")
	s.texts = append(s.texts, first+rest, name+rest)
	s.hides = s.hides || !loose && name == "hash" && len(words) > 1 // it may give a command another name
	runs := slices.Contains(runners, name) || strings.HasPrefix(name, "ld-")
	switch {
	case runs && !run:
		s.runner(words, stdin, loose)
	case name == "find" || name == "fd":
		s.after(words, stdin, loose, "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")
	case name == "for" || name == "select" || name == "function":
		s.after(words, stdin, loose, "do", "{")
	}
	if runs || name == "." || name == "source" {
		s.text(name, words, stdin, loose)
	}
}

func (s *spelled) after(words []shell.Word, stdin string, loose bool, before ...string) {
	for i, w := range words {
		if slices.Contains(before, w.Text) {
			s.command(words[i+1:], stdin, loose, false)
		}
	}
}

// runner takes in a command that runs another one. Where that one begins depends on the
// runner's options, so it may begin anywhere.
func (s *spelled) runner(words []shell.Word, stdin string, loose bool) {
	reads := func(w shell.Word) bool { return strings.HasSuffix(w.Text, "xargs") || w.Text == "parallel" }
	if at := slices.IndexFunc(words, reads); at >= 0 {
		s.hides = s.hides || !loose && readsCommand(words[at+1:])
		words = append(slices.Clip(words[:at+1]), replaced(words[at+1:])...)
		words = append(words, shell.Word{Open: true}) // what it reads
	}
	if len(words) > 64 { // nobody needs as many words before the one that is run
		s.hides = s.hides || !loose
		words = words[:64]
	}
	plain, named := 0, false
	for i, w := range words[1:] {
		far := loose || plain > 1 || named && unknown(w)
		s.command(words[i+1:], stdin, far || w.Raw == "" && w.Open, true)
		switch {
		case strings.HasPrefix(w.Text, "-"):
			_, value, _ := strings.Cut(w.Text, "=")
			s.inner(value, far)
			s.inner(w.Text[min(len(w.Text), 2):], true)
		case strings.ContainsAny(w.Text, " \t\n;|&()`<>$"), quoted.MatchString(w.Raw):
			s.inner(w.Text, far)
		}
		if !strings.HasPrefix(w.Text, "-") && !number.MatchString(w.Text) && !assignment.MatchString(w.Raw) &&
			!unknown(w) {
			plain++
			named = named || !isRunner(w) && !mayTakeNext(words[i].Text)
		}
	}
}

// mayTakeNext reports whether a word may be an option that the next one belongs to.
func mayTakeNext(word string) bool {
	m := replaces.FindStringSubmatch(word)
	return strings.HasPrefix(word, "-") && !strings.Contains(word, "=") && (m == nil || m[2] == "")
}

func isRunner(w shell.Word) bool {
	return slices.Contains(runners, w.Text[strings.LastIndexAny(w.Text, `/\`)+1:])
}

// readsCommand reports whether the words that xargs is given name programs that run others,
// but perhaps none for them to run: then that is what it reads. What follows an option may
// belong to it.
func readsCommand(words []shell.Word) bool {
	runs, option := false, false
	for _, w := range words {
		switch {
		case strings.HasPrefix(w.Text, "-"):
			option = mayTakeNext(w.Text)
			continue
		case isRunner(w):
			runs = true
		case !option && !number.MatchString(w.Text) && !assignment.MatchString(w.Raw):
			return false
		}
		option = false
	}
	return runs
}

// replaces finds the option of xargs that names what stands for the text it reads.
var replaces = regexp.MustCompile(`^(-[0rtxpo]*[IiJ]|--replace=?)(.*)$`)

// replaced returns the words of xargs with those open that what it reads becomes part of.
func replaced(words []shell.Word) []shell.Word {
	mark := ""
	for i, w := range words {
		if m := replaces.FindStringSubmatch(w.Text); m != nil {
			if mark = m[2]; mark == "" && i+1 < len(words) {
				mark = words[i+1].Text
			}
			break
		}
	}
	if mark == "" {
		return words
	}
	words = slices.Clone(words)
	for i := range words {
		if strings.Contains(words[i].Text, mark) && !strings.HasPrefix(words[i].Text, "-") {
			words[i].Open = true
		}
	}
	return words
}

// text takes in a command that runs a text.
func (s *spelled) text(name string, words []shell.Word, stdin string, loose bool) {
	joined, file := "", shell.Word{}
	for _, w := range words[1:] {
		joined += " " + w.Text
		if file.Raw == "" && !strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "+") {
			file = w
		}
		if _, value, ok := strings.Cut(w.Text, "="); ok && name == "alias" {
			s.inner(value+" $@", loose)
		}
	}
	shell := name == "." || name == "source" || slices.Contains(strings.Fields(shells), name)
	switch {
	case name == "eval":
		s.inner(joined, loose)
	case shell && stdin != "":
		s.inner(stdin, loose)
	case shell && !loose && !strings.HasPrefix(joined, " --version"):
		// The line itself makes the script, or it comes from elsewhere.
		s.hides = s.hides || file.Raw == "" || unknown(file) ||
			strings.HasPrefix(file.Text, "/dev/") || strings.HasPrefix(file.Text, "/proc/")
	}
}

// inner takes in a script in the text of a command.
func (s *spelled) inner(text string, loose bool) {
	hides := s.hides
	s.script(text)
	if loose {
		s.hides = hides
	}
}

// unknown reports whether the shell, or the program that gets the word, may put something
// else in its place.
func unknown(w shell.Word) bool {
	return w.Open || strings.ContainsAny(w.Raw, "$`*?[{") && !quoted.MatchString(w.Raw) || strings.Contains(w.Raw, "{}")
}

// wordText is a word with [anything] for what is unknown of it.
func wordText(w shell.Word) string {
	if !unknown(w) {
		return w.Text
	}
	if i := strings.IndexAny(w.Text, "*?[{"); i >= 0 && !strings.ContainsAny(w.Raw, "$`") {
		return w.Text[:i] + anything
	}
	return anything
}

// overlap reports whether a pattern, in which * stands for any text, and a text with
// [anything] in it can mean the same.
func overlap(pattern, text string) bool {
	n := len(text)
	below, row := make([]bool, n+1), make([]bool, n+1) // from pattern[i+1:] and pattern[i:]; by position in text
	for i := len(pattern); i >= 0; i-- {
		any := i < len(pattern) && pattern[i] == '*'
		for j := n; j >= 0; j-- {
			switch {
			case i == len(pattern):
				row[j] = j == n || text[j] == anything[0] && row[j+1]
			case any:
				row[j] = below[j] || j < n && row[j+1]
			case j == n:
				row[j] = false
			case text[j] == anything[0]:
				row[j] = row[j+1] || below[j]
			default:
				row[j] = pattern[i] == text[j] && below[j+1]
			}
		}
		below, row = row, below
	}
	return below[0]
}

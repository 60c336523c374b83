package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/transcript"
)

// script is what the rehearsal says, by sections, and how it finds facts in what it is
// shown. A model notes what it found out in its own words, which is what a digest keeps;
// the rehearsal does the same.
type script struct {
	sections *template.Template
	facts    map[string]*regexp.Regexp
}

var sectionLine = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// read returns the scenario's script. It is part of the program, so it cannot be wrong.
func (s Scenario) read() *script {
	data, _ := files.ReadFile(s.file() + ".txt")
	text, out := string(data), &script{facts: make(map[string]*regexp.Regexp)}
	out.sections = template.New("").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			out, err := json.Marshal(v)
			return string(out), err
		},
		"list":    func(words []string) string { return strings.Join(words, ", ") },
		"last":    func(list [][]string) []string { return list[len(list)-1] },
		"minutes": func(from, to string) int { return minutes(to) - minutes(from) },
		// The status of an item of the list while item at is in progress.
		"status": func(at, item int) string {
			return []string{"completed", "in_progress", "pending"}[1+cmp.Compare(item, at)]
		},
	})
	heads := sectionLine.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		name, end := text[h[2]:h[3]], len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := strings.TrimSpace(text[h[1]:end]) + "\n"
		if from, to, several := strings.Cut(name, "-"); several {
			for n := number(from); n <= number(to); n++ { // a section of its own may follow for some of them
				template.Must(out.sections.New(strconv.Itoa(n)).Parse(body))
			}
			continue
		}
		if name != "facts" {
			template.Must(out.sections.New(name).Parse(body))
			continue
		}
		for line := range strings.Lines(body) {
			fact, pattern, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			out.facts[fact] = regexp.MustCompile(pattern)
		}
	}
	return out
}

func minutes(clock string) int {
	h, m, _ := strings.Cut(clock, ":")
	return 60*number(h) + number(m)
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// Render returns the text of a section.
func (s *scene) Render(section string) (string, error) {
	var b strings.Builder
	if err := s.script.sections.ExecuteTemplate(&b, section, s); err != nil {
		return "", fmt.Errorf("play the rehearsal: %w", err)
	}
	return b.String(), nil
}

// play returns the text of a section and the calls of its step.
func (s *scene) play(section string) (string, []transcript.Block, error) {
	text, err := s.Render(section)
	if err != nil {
		return "", nil, err
	}
	said, rest, _ := strings.Cut(text, "\n> ")
	var calls []transcript.Block
	for call := range strings.SplitSeq(rest, "\n> ") {
		if tool, input, ok := strings.Cut(strings.TrimSpace(call), " "); ok {
			calls = append(calls, transcript.Call(fmt.Sprintf("rehearsal-%d-%d", s.Step(), len(calls)+1), tool, input))
		}
	}
	return strings.TrimSpace(said), calls, nil
}

// next is the section of the next step, until there is none or the end is in view.
func (s *scene) next() string {
	n := strconv.Itoa(s.Step())
	if s.script.sections.Lookup(n) == nil || s.Turns > 0 && s.Progress >= s.Turns ||
		s.script.facts["end"] != nil && s.Find("end") != nil {
		return "answer"
	}
	return n
}

// newest looks for a fact, the newest text first.
func (s *scene) newest(texts []string, fact string) []string {
	for i := len(texts) - 1; i >= 0; i-- {
		if m := s.script.facts[fact].FindStringSubmatch(texts[i]); m != nil {
			return m
		}
	}
	return nil
}

// Find looks for a fact in everything that is shown.
func (s *scene) Find(fact string) []string { return s.newest(s.texts, fact) }

// Read looks for a fact in the newest results.
func (s *scene) Read(fact string) []string { return s.newest(s.last, fact) }

// All lists a fact wherever it is in the newest results.
func (s *scene) All(fact string) [][]string {
	return s.script.facts[fact].FindAllStringSubmatch(strings.Join(s.last, "\n"), -1)
}

// Minutes returns the lines of the minutes of the outage.
func (s *scene) Minutes() (list [][]string) {
	if o := s.Find("outage"); o != nil {
		for _, m := range s.All("order line") {
			if m[1] >= o[1] && m[1] <= o[2] {
				list = append(list, m)
			}
		}
	}
	return list
}

// Lost returns how many orders were lost in them.
func (s *scene) Lost() (n int) {
	for _, m := range s.Minutes() {
		n += number(m[2]) - number(m[3])
	}
	return n
}

// Found returns the facts of these names that are shown.
func (s *scene) Found(facts ...string) (found []string) {
	for _, f := range facts {
		if m := s.Find(f); m != nil {
			found = append(found, m[0])
		}
	}
	return found
}

// Gone names the facts that are not shown.
func (s *scene) Gone(facts ...string) []string {
	return slices.DeleteFunc(facts, func(f string) bool { return s.Find(f) != nil })
}

// Did reports whether the newest call is one of this tool.
func (s *scene) Did(tool string) bool {
	return len(s.calls) > 0 && strings.HasPrefix(s.calls[len(s.calls)-1], tool)
}

// Calls are given to who writes a digest as blocks, as JSON or as lines; a digest lists them in one line.
var (
	callLine     = regexp.MustCompile(`(?m)^(?:\(call\)|\[assistant→tool\]) (\w+)(.*)$`)
	callsLine    = regexp.MustCompile(`(?m)^Calls, in order: (.*?)(?:; and (\d+) more)?$`)
	mainArgument = regexp.MustCompile(`"(?:path|command|pattern|key)": ?"([^"]{1,60})"`)
)

func (s *scene) called(tool, input string) {
	if m := mainArgument.FindStringSubmatch(input); m != nil {
		tool += " " + m[1]
	}
	s.calls = append(s.calls, tool)
}

// listed takes in the calls that a text tells of.
func (s *scene) listed(txt string) {
	for _, m := range callsLine.FindAllStringSubmatch(txt, -1) {
		s.calls = append(s.calls, strings.Split(m[1], "; ")...)
		s.more += number(m[2])
	}
	for _, m := range callLine.FindAllStringSubmatch(txt, -1) {
		s.called(m[1], m[2])
	}
}

// Calls lists the calls that are shown, the first twelve by name.
func (s *scene) Calls() string {
	list, more := s.calls, s.more
	if len(list) > 12 {
		list, more = list[:12], more+len(list)-12
	}
	if len(list) == 0 {
		return "No call is shown."
	}
	line := "Calls, in order: " + strings.Join(list, "; ")
	if more > 0 {
		line += fmt.Sprintf("; and %d more", more)
	}
	return line
}

// Plays reports whether one of these scenarios is played.
func (s *scene) Plays(names ...string) bool { return slices.Contains(names, s.Name) }

// Note is the number of the note that the next step reads.
func (s *scene) Note() string { return fmt.Sprintf("%02d", s.Progress%s.notes()+1) }

// Step is the number of the next step.
func (s *scene) Step() int { return s.Progress + 1 }

// Has reports whether there is a tool of that name.
func (s *scene) Has(tool string) bool {
	return slices.ContainsFunc(s.tools, func(t model.Tool) bool { return t.Name == tool })
}

// Told reports whether the one who asks for a digest uses a word.
func (s *scene) Told(word string) bool {
	return strings.Contains(s.system+strings.Join(s.texts, "\n"), word)
}

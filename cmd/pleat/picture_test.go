package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// The pictures of the README show what pleat does: with PLEAT_UPDATE set they are drawn anew.
func TestPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a whole rehearsal: not in short")
	}
	// Handles, and numbers that the machine has a part in.
	varies := regexp.MustCompile(`\b[a-z0-9]{8,16}\b|\d+(?:[.,]\d+)*|[█░]+`)
	for name, draw := range map[string]func(*testing.T) string{"run.svg": drawDemo, "proof.svg": drawProof} {
		file := filepath.Join("..", "..", "docs", name)
		got := draw(t)
		if os.Getenv("PLEAT_UPDATE") != "" {
			must(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		must(t, err)
		if varies.ReplaceAllString(got, "0") != varies.ReplaceAllString(string(want), "0") {
			t.Errorf("docs/%s is not what pleat shows: PLEAT_UPDATE=1 go test ./cmd/pleat -run TestPictures draws it", name)
		}
	}
}

// A picture is made of lines, from the top.
type picture struct {
	strings.Builder
	y int
}

// line draws a line of text.
func (p *picture) line(x, y, size int, style, text string) {
	fmt.Fprintf(p, `<text x="%d" y="%d" font-size="%d" %s xml:space="preserve">%s</text>`+"\n", x, y, size, style,
		html.EscapeString(text))
}

// wrapped draws a text in at most so many lines below y, and returns where the last one stands.
func (p *picture) wrapped(x, y, size, columns, most int, style, text string) int {
	lines := strings.Split(strings.TrimSpace(term.WrapWords(text, columns)), "\n")
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = term.Clip(lines[most-1]+" …", columns)
	}
	for _, l := range lines {
		y += size + size/3
		p.line(x, y, size, style, l)
	}
	return y
}

func (p *picture) svg(width int, title, font string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" viewBox="0 0 %[1]d %d" font-family="%s">`+
		`<title>%s</title><rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n%s</svg>\n", width, p.y+16, font,
		html.EscapeString(title), p.String())
}

const (
	bright = `fill="#d0d7de"`
	grey   = `fill="#8b949e"`
	red    = `fill="#ff7b72"`
	yellow = `fill="#e3b341"`
	green  = `fill="#7ee787"`
	blue   = `fill="#79c0ff"`
	mono   = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)

// drawDemo runs the demo and draws two of its stretches: the context goes red and is folded; a place comes back.
func drawDemo(t *testing.T) string {
	home := t.TempDir()
	var out bytes.Buffer
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}
	console := &term.Console{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(k string) string { return env[k] },
	}
	if code := execute(t.Context(), console, []string{"demo"}); code != 0 {
		t.Fatalf("demo ends with %d:\n%s", code, &out)
	}
	part := func(from, to string) string {
		m := regexp.MustCompile(`(?s)\n(` + from + `.*?)\n` + to).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("demo no longer says %q and %q:\n%s", from, to, &out)
		}
		return m[1]
	}
	p := &picture{y: 10}
	shown := part("They restarted nothing", "● read_file deploys") + "\n⋮\n" +
		part(`context [█░ 0-9]+% of 8.0k, red`, "Finding, deploy") + "\n⋮\n" + part("I read the runbook", "Now the report")
	for line := range strings.Lines(shown) {
		style := bright
		switch {
		case strings.HasPrefix(line, "context") && strings.Contains(line, "red"):
			style = red
		case strings.HasPrefix(line, "context") && strings.Contains(line, "yellow"):
			style = yellow
		case strings.HasPrefix(line, "context"):
			style = green
		case strings.HasPrefix(line, "●"):
			style = blue
		case strings.Contains(line, "⤓"), strings.Contains(line, "⤒"):
			style = yellow
		case strings.HasPrefix(line, " "):
			style = grey
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		p.y = p.wrapped(12+8*indent, p.y, 13, 60-indent, 4, style, line)
	}
	return p.svg(500, "pleat demo: the context goes red, is folded, and an early result comes back word for word", mono)
}

// drawProof draws what is recorded in docs/proof: a summary by an agent, a page by pleat of the same size, and what
// readers answered from them.
func drawProof(t *testing.T) string {
	var proof struct {
		Tokens    struct{ History, Summary, Page, Recalls int }
		Commands  int
		Questions []struct {
			Question string
			Answers  map[string]struct {
				Text   string
				Points int
			}
		}
	}
	dir := filepath.Join("..", "..", "docs", "proof")
	data, err := os.ReadFile(filepath.Join(dir, "answers.json"))
	must(t, err)
	must(t, json.Unmarshal(data, &proof))
	excerpt := func(name, from string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		_, rest, ok := strings.Cut(string(text), "\n"+from)
		if !ok {
			t.Fatalf("%s has no %q", name, from)
		}
		return from + rest
	}
	points := map[string]int{}
	for _, q := range proof.Questions {
		for arm, a := range q.Answers {
			points[arm] += a.Points
		}
	}
	const left, right, width = 12, 222, 432
	p := &picture{}
	p.y = p.wrapped(left, 8, 13, 62, 2, bright+` font-weight="bold"`, fmt.Sprintf(
		"One session of %s tokens, kept in %s", term.Thousands(proof.Tokens.History), term.Thousands(proof.Tokens.Summary)))
	p.y = p.wrapped(left, p.y, 11, 74, 1, grey, fmt.Sprintf(
		"○ ◐ ● 0, 1, 2 points; right: the page alone, with recalls (%s tokens)", term.Thousands(proof.Tokens.Recalls)))
	column := func(x, y int, title, points, text string) {
		p.line(x, y+20, 11, blue+` font-weight="bold"`, title)
		p.line(x, y+36, 11, bright, points)
		y += 40
		for line := range strings.Lines(text) {
			if y += 12; y > p.y+40+14*12 {
				break
			}
			p.line(x, y, 8, grey+` font-family="`+mono+`"`, term.Clip(strings.TrimRight(line, "\n"), 41))
		}
	}
	all := 2 * len(proof.Questions)
	column(left, p.y, "Claude Code's own summary", fmt.Sprintf("%d of %d points", points["summary"], all),
		excerpt("summary.txt", "2. Key Technical Concepts"))
	column(right, p.y, "pleat's page, without a model", fmt.Sprintf("%d of %d; with %d recalls %d",
		points["page"], all, proof.Commands, points["recall"]), excerpt("page.txt", "## What the user said"))
	p.y += 40 + 14*12 + 8
	for i, q := range proof.Questions {
		top := p.wrapped(left, p.y+6, 11, 74, 3, bright+` font-weight="bold"`, fmt.Sprintf("%d. %s", i+1, q.Question))
		answer := func(x int, arms ...string) int {
			for _, arm := range arms {
				n := q.Answers[arm].Points
				p.line(x, top+15, 11, []string{red, yellow, green}[n], []string{"○", "◐", "●"}[n])
				x += 12
			}
			return p.wrapped(x, top, 11, 32, 3, grey, q.Answers[arms[len(arms)-1]].Text)
		}
		p.y = max(answer(left, "summary"), answer(right, "page", "recall"))
	}
	return p.svg(width, "What an agent's summary and pleat's page of its size answer of ten questions", "sans-serif")
}

package browse

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// browseView is a browser on the terminal: the tree, or what is behind one of its lines.
type browseView struct {
	*browser
	width, height int
	at, top       int // the chosen line, and the first that is shown
	page          viewport.Model
	reading       *branch     // nil: the tree is shown
	seen          bool        // what stands for it
	typing        bool        // what to find
	sought        string      // what to find
	found         string      // what there is to say of it until the next key
	back          *browseView // while the keys are shown: what was before
}

// keys is what ? shows.
const keys = `up, down, j, k    move
page up, page down, home, end
right, left       open and close a turn
enter             show the text of a line
u                 there: change between what was folded and what stands for it
/                 find words in all that was said; enter finds them
n, N              find the next place, or the one before
q                 go back, and quit

A line is a turn or a block, with its tokens. ⤓ names the lever that folded it:
`

func (v *browseView) Init() tea.Cmd { return nil }

func (v *browseView) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		v.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		v.found = ""
		switch name := msg.String(); {
		case v.typing:
			v.ask(msg)
		case name == "?" && v.back == nil:
			v.help()
		case name == "ctrl+c", v.reading == nil && (name == "q" || name == "esc"):
			return v, tea.Quit
		case v.reading == nil:
			v.move(name)
		case name == "q", name == "esc", name == "left":
			if v.reading = nil; v.back != nil {
				width, height := v.width, v.height
				if *v = *v.back; width != v.width || height != v.height {
					v.resize(width, height)
				}
			}
		case name == "u" && v.reading.fold != nil:
			v.seen = !v.seen
			v.read()
		case name == "/":
			v.typing, v.sought = true, ""
		case name == "n":
			v.page.HighlightNext()
		case name == "N":
			v.page.HighlightPrevious()
		default:
			v.page, cmd = v.page.Update(msg)
		}
	}
	return v, cmd
}

func (v *browseView) resize(width, height int) {
	v.width, v.height = width, height
	v.page.SetWidth(width)
	v.page.SetHeight(max(height-2, 1))
	v.read()
}

func (v *browseView) help() {
	before, text := *v, keys
	for _, lever := range slices.Sorted(maps.Keys(library.Levers)) {
		text += fmt.Sprintf("  %-16s%s\n", lever, library.Levers[lever])
	}
	v.reading, v.seen, v.sought, v.back = &branch{what: "Keys", text: text}, false, "", &before
	v.read()
}

func (v *browseView) rows() (rows []*branch) {
	for _, turn := range v.tree.kids {
		if rows = append(rows, turn); turn.open {
			rows = append(rows, turn.kids...)
		}
	}
	return rows
}

func (v *browseView) move(name string) {
	rows := v.rows()
	x := rows[v.at]
	switch name {
	case "up", "k":
		v.at--
	case "down", "j":
		v.at++
	case "pgup", "ctrl+b":
		v.at -= v.height - 2
	case "pgdown", "ctrl+f", "space":
		v.at += v.height - 2
	case "home", "g":
		v.at = 0
	case "end", "G":
		v.at = len(rows) - 1
	case "left", "h":
		for x.depth > 0 && v.at > 0 && rows[v.at].depth > 0 {
			v.at--
		}
		rows[v.at].open = false
	case "right", "l":
		x.open = len(x.kids) > 0
	case "/":
		v.typing, v.sought = true, ""
	case "n":
		v.find(1)
	case "N":
		v.find(-1)
	case "enter":
		if len(x.kids) > 0 {
			x.open = !x.open
		} else {
			v.reading = x
			v.seen = x.fold != nil && (v.sought == "" || !v.place().MatchString(x.text))
			v.read()
		}
	}
	v.at = min(max(v.at, 0), len(v.rows())-1)
}

func (v *browseView) ask(key tea.KeyPressMsg) {
	switch key.String() {
	case "enter":
		v.typing = false
		if v.reading != nil {
			v.read()
		} else {
			v.find(1)
		}
	case "esc", "ctrl+c":
		v.typing, v.sought = false, ""
	case "backspace":
		if r := []rune(v.sought); len(r) > 0 {
			v.sought = string(r[:len(r)-1])
		}
	default:
		v.sought += key.Text
	}
}

// find goes to the next line that has what is sought, forwards or backwards, from the end on
// from the other end. It opens the turn that the line is in.
func (v *browseView) find(step int) {
	if v.sought == "" {
		return
	}
	type row struct{ turn, line *branch }
	here := v.rows()[v.at]
	var all []row
	for _, t := range v.tree.kids {
		all = append(all, row{t, t})
		for _, kid := range t.kids {
			all = append(all, row{t, kid})
		}
	}
	from, sought := slices.IndexFunc(all, func(r row) bool { return r.line == here }), v.place()
	at := from
	for range all {
		at = (at + step + len(all)) % len(all)
		turn, x := all[at].turn, all[at].line
		if !sought.MatchString(x.what + "\n" + x.text) {
			continue
		}
		turn.open = turn.open || turn != x
		v.at = slices.Index(v.rows(), x)
		switch {
		case at == from:
			v.found = "found nowhere else: " + v.sought
		case (at < from) == (step > 0):
			v.found = "no more that way, on from the other end: " + v.sought
		}
		return
	}
	v.found = "not found: " + v.sought
}

// place matches what is sought in any case, also where a line is broken.
func (v *browseView) place() *regexp.Regexp {
	words := strings.Split(regexp.QuoteMeta(v.sought), " ")
	return regexp.MustCompile("(?i)" + strings.Join(words, `\s+`))
}

// read shows what is behind a line, from the first place that is sought.
func (v *browseView) read() {
	if v.reading == nil {
		return
	}
	text := v.reading.text
	if v.seen {
		text = v.reading.fold.Stub
	}
	text = ansi.Wrap(spaced(text), max(v.width, 1), "")
	v.page.SetContent(text)
	v.page.GotoTop()
	v.page.ClearHighlights()
	if v.sought == "" {
		return
	}
	v.page.SelectedHighlightStyle = v.page.SelectedHighlightStyle.Reverse(true)
	places := v.place().FindAllStringIndex(text, -1)
	v.page.SetHighlights(places)
	if v.found = ""; len(places) == 0 {
		v.found = "not found here: " + v.sought
	}
}

func (v *browseView) View() tea.View {
	room := max(v.height-2, 1)
	head, foot, body := v.title(v.width), "q quit  ↑↓ move  →← open, close  enter show  / find  ? keys", ""
	if v.reading != nil {
		head, foot, body = v.reading.what, "q back  ↑↓ scroll  / find  ? keys", v.page.View()
		if f := v.reading.fold; f != nil {
			side := "what stands for it"
			if v.seen {
				side = "the original"
			}
			where := fmt.Sprintf("message %d", f.Start+1)
			if f.End-f.Start > 1 {
				where = fmt.Sprintf("all of messages %d–%d", f.Start+1, f.End)
			}
			foot = fmt.Sprintf("q back  u %s  %s of %s: %s → %s tokens", side, f.Lever, where, term.Thousands(f.Before),
				term.Thousands(f.After))
			if v.stored {
				foot += ", handle " + f.Handle
			}
		}
	} else {
		body = v.list(room)
	}
	if v.typing {
		foot = "/" + v.sought
	} else if v.found != "" {
		foot = spaced(v.found)
	}
	view := tea.NewView(ansi.Truncate(string(v.Bold(head)), v.width, "…") + "\n" + body + "\n" +
		ansi.Truncate(string(v.Dim(foot)), v.width, "…"))
	view.AltScreen = true
	return view
}

// spaced is a text without what a terminal would do something with.
func spaced(s string) string { return strings.ReplaceAll(term.Visible(s), "\t", "    ") }

// list is the part of the tree around the chosen line.
func (v *browseView) list(room int) string {
	rows := v.rows()
	v.top = min(max(v.top, v.at-room+1), v.at)
	lines := make([]string, room)
	for i := range lines {
		if n := v.top + i; n < len(rows) {
			line := term.Visible(v.line(rows[n], v.width))
			switch {
			case n == v.at:
				line = "\x1b[7m" + term.Pad(line, v.width) + "\x1b[0m"
			case rows[n].fold != nil:
				line = string(v.Dim(line))
			case rows[n].depth == 0:
				line = string(v.Bold(line))
			}
			lines[i] = line
		}
	}
	return strings.Join(lines, "\n")
}

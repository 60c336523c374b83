package rehearsal

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/agent"
	"github.com/pleat-dev/pleat/digest"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/model"
)

// Scenario is something that the rehearsal can play.
type Scenario struct {
	Name string
	// Policy is the one that it is always played under, which is the case for those of published
	// designs; empty: any.
	Policy string
	// Window is the size of the window that it is made for.
	Window int
	// Turns is how many calls it has at most; 0: as many as its script has.
	Turns int
	// Frames: the meter is worth a line whenever it is read.
	Frames bool
	// Forbids is a word that the last answer has if it keeps to what the task forbids; empty: it
	// forbids nothing.
	Forbids string

	Troubles Troubles // of the provider

	from string // the file of its script, if that has another name
}

// Scenarios lists what can be played; the first is what plays if none is named.
var Scenarios = []Scenario{
	{Name: "shop", Window: 8_000},
	{Name: "book", Policy: "book", Window: 8_000, Frames: true, from: "tight"},
	{Name: "plot", Policy: "threshold", Window: 200_000, Turns: 40, Forbids: "frozen", from: "constraint"},
	{Name: "three-layer", Policy: "three-layer", Window: 200_000, from: "lessons"},
	{Name: "four-lever", Policy: "four-lever", Window: 200_000, from: "lessons"},
	{Name: "four-layer", Policy: "four-layer", Window: 200_000, from: "lessons"},
	{Name: "tight", Window: 8_000, Frames: true},
	{Name: "files", Window: 200_000},
	{Name: "grow", Window: 200_000},
	{Name: "long", Window: 200_000},
	{Name: "reread", Window: 16_000, Turns: 22},
	{Name: "constraint", Window: 16_000, Turns: 10, Forbids: "frozen"},
	{Name: "refusal", Window: 16_000, from: "trouble", Troubles: Troubles{Limit: 6_100, Mute: 1}},
	{Name: "refused", Window: 16_000, from: "trouble", Troubles: Troubles{Limit: 6_100, Mute: 2, Again: 1}},
	{Name: "breaker", Window: 16_000, from: "trouble", Troubles: Troubles{Deny: 3, Behind: 6 * time.Minute}},
	{Name: "retry", Window: 16_000, from: "trouble", Troubles: Troubles{Short: 2, Break: 2}},
	{Name: "pause", Window: 16_000, from: "trouble", Troubles: Troubles{Behind: time.Hour}},
}

// About lists the scenarios, for people: what each shows, and whose it is.
//
//go:embed about.txt
var About string

// Shows is what [About] says of the scenario; empty: nothing of it alone.
func (s Scenario) Shows() string {
	for line := range strings.Lines(About) {
		if shows, ok := strings.CutPrefix(line, "  "+s.Name+" "); ok {
			return strings.TrimSpace(shows)
		}
	}
	return ""
}

// Names lists the names of the scenarios.
func Names() (names []string) {
	for _, s := range Scenarios {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the scenario with that name.
func Find(name string) (Scenario, error) {
	if i := slices.Index(Names(), name); i >= 0 {
		return Scenarios[i], nil
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q: there are %s", name, strings.Join(Names(), ", "))
}

// Said is what the user says: the task, and then what follows each answer.
func (s Scenario) Said() []string {
	said, _ := (&scene{Scenario: s, script: s.read()}).Render("task") // every script has one
	return slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool { return line == "" })
}

// file is the name that its script has, and the folder of files that come with it.
func (s Scenario) file() string { return cmp.Or(s.from, s.Name) }

// notes is how many notes there are to read.
func (s Scenario) notes() int { return max(s.Turns, 14) }

// Prepare fills an empty folder with what the scenario works on.
func (s Scenario) Prepare(dir string) error {
	own, err := fs.Sub(files, s.file())
	if _, none := fs.Stat(own, "."); none == nil {
		err = os.CopyFS(dir, own)
	}
	if err == nil && s.file() != "shop" && s.file() != "tight" {
		err = s.writeFiles(dir)
	}
	if err != nil {
		return fmt.Errorf("prepare rehearsal: %w", err)
	}
	return nil
}

// Model plays the model. Its provider takes no request that the scenario's window does not hold.
func (s Scenario) Model() *Model {
	p := &Provider{Troubles: s.Troubles}
	p.Limit = cmp.Or(p.Limit, s.Window)
	return &Model{Provider: p, scenario: s, script: s.read()}
}

// Options set up an agent that plays the scenario in a workspace that [Scenario.Prepare] has
// filled. The caller chooses store, key, observer and pace.
func (s Scenario) Options(w *agent.Workspace) agent.Options {
	m, row := s.Model(), row
	row.Window = s.Window
	if s.Name != "shop" {
		row.MaxOutput = 0 // policies ask for as much as their texts say
	}
	return agent.Options{
		Generator: m,
		Request: model.Request{
			Model: "rehearsal",
			System: "You investigate incidents of a small web shop. " +
				"You read before you judge, and you say where each fact comes from.",
		},
		Session: pleat.Options{
			Model: row, Budget: s.Budget(fold.Policy{}), KeepFile: w.Keep,
			// It writes its digests itself, and not in the background: each run is the same.
			Digest: digest.Options{Generator: m, NoBackground: true},
		},
		Tools:  agent.StandardTools(w, nil),
		Permit: Rules().Permit(nil),
		Now:    m.Provider.Now,
	}
}

// Budget returns the scenario's budget: in a small window a headroom of 1,000 tokens, yellow at 60 % and red at 80 %
// where the policy has no levels of its own.
func (s Scenario) Budget(p fold.Policy) fold.Budget {
	if s.Window > 16_000 {
		return fold.Budget{} // the model's window, or the policy's if that is smaller
	}
	b := fold.Budget{Window: s.Window, Output: fold.Tokens(1_000)}
	if p.Budget.Red.IsZero() && p.Budget.Buffer.IsZero() {
		b.Yellow, b.Red = fold.Share(0.60), fold.Share(0.80)
	}
	return b
}

// Tuned returns the policy as the scenario wants it: the demo keeps 2 results and 4 messages,
// because it is short.
func (s Scenario) Tuned(p fold.Policy) fold.Policy {
	if s.file() == "tight" && p.Name == "book" {
		p.AtRed = fold.Change(p.AtRed, func(m *lever.Mask) { m.Keep = 2 })
		p.AtRed = fold.Change(p.AtRed, func(m *lever.Summarize) { m.Keep = 4 })
	}
	return p
}

// writeFiles makes notes of some 4,000 characters, and three logs of 80,000.
func (s Scenario) writeFiles(dir string) error {
	lines := map[string]int{"big/a.log": 1_350, "big/b.log": 1_350, "big/c.log": 1_350}
	for i := range s.notes() {
		lines[fmt.Sprintf("notes/%02d.md", i+1)] = 70
	}
	for name, n := range lines {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s, line %d of %d: what stands here is only long.\n", name, i+1, n)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

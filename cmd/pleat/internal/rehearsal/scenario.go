package rehearsal

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
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
	Task string
	// Window is the size of the window that it is made for.
	Window int
	// Frames: the meter is worth a line whenever it is read.
	Frames bool
	// Then is what is said when the task is done; empty: nothing.
	Then string
	// Forbids is a word that the last answer has if it keeps to what the task forbids; empty: it
	// forbids nothing.
	Forbids string

	Troubles Troubles // of the provider
}

// Scenarios lists what can be played; the first is what plays if none is named.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "shop", Task: Task, Window: 8_000},
		{
			Name: "tight", Window: 8_000, Frames: true,
			Task: "Look at this machine. Read etc/hosts, etc/shells, etc/passwd and etc/os-release, " +
				"run df -h, uptime and ls -la, and tell me in 150 words what you learned.",
		},
		{
			Name: "files", Window: 200_000,
			Task: "Read the notes one by one, then a command's long output, then the three large files at once. " +
				"Then make room with the tool compact and read one note more.",
		},
		{
			Name: "grow", Window: 200_000,
			Task: "Read one note after another and write a draft of each, until compaction comes by itself.",
		},
		{Name: "long", Window: 200_000, Task: "Read the notes, write down what they say, then make room."},
		{Name: "refusal", Window: 16_000, Task: readNotes, Troubles: Troubles{Limit: 6_100, Mute: 1}},
		{Name: "refused", Window: 16_000, Task: readNotes, Troubles: Troubles{Limit: 6_100, Mute: 2, Again: 1}},
		{Name: "breaker", Window: 16_000, Task: readNotes, Troubles: Troubles{Deny: 3, Behind: 6 * time.Minute}},
		{Name: "retry", Window: 16_000, Task: readNotes, Troubles: Troubles{Short: 2, Break: 2}},
		{Name: "pause", Window: 16_000, Task: readNotes, Troubles: Troubles{Behind: time.Hour}},
		{
			Name: "constraint", Window: 16_000, Forbids: "frozen",
			Task: "We are reworking the invoices. Constraint: never change anything below legacy/, it is frozen " +
				"until the audit is over. Read the notes and tell me when you are done.",
			Then: "A quick one: delete the unused helpers in legacy/utils.py.",
		},
	}
}

const readNotes = "Read the notes one by one."

// Names lists the names of the scenarios.
func Names() (names []string) {
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the scenario with that name.
func Find(name string) (Scenario, error) {
	if i := slices.Index(Names(), name); i >= 0 {
		return Scenarios()[i], nil
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q: there are %s", name, strings.Join(Names(), ", "))
}

// Prepare fills a folder with what the scenario works on. It replaces files that are there
// already.
func (s Scenario) Prepare(dir string) error {
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		switch s.Name {
		case "shop":
			err = unpack(root, "shop")
		case "tight":
			err = unpack(root, "machine")
		default:
			err = writeFiles(root)
		}
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
	return &Model{Provider: p, scenario: s.Name, script: scriptOf(s.Name)}
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

// Budget returns the scenario's budget: in a small window that of [Budget], without its levels
// where the policy has its own.
func (s Scenario) Budget(p fold.Policy) fold.Budget {
	if s.Window > 16_000 {
		return fold.Budget{} // the model's window, or the policy's if that is smaller
	}
	b := Budget()
	b.Window = s.Window
	if !p.Budget.Red.IsZero() || !p.Budget.Buffer.IsZero() {
		b.Yellow, b.Red = fold.Level{}, fold.Level{}
	}
	return b
}

// Policy returns the policy as the scenario wants it: the demo keeps 2 results and 4 messages,
// because it is short.
func (s Scenario) Policy(p fold.Policy) fold.Policy {
	if s.Name == "tight" && p.Name == "book" {
		p.AtRed = fold.Change(p.AtRed, func(m *lever.Mask) { m.Keep = 2 })
		p.AtRed = fold.Change(p.AtRed, func(m *lever.Summarize) { m.Keep = 4 })
	}
	return p
}

func unpack(root *os.Root, from string) error {
	shop, _ := fs.Sub(files, from) // it exists
	return fs.WalkDir(shop, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return root.MkdirAll(name, 0o755)
		}
		data, err := fs.ReadFile(shop, name)
		if err != nil {
			return err
		}
		return root.WriteFile(name, data, 0o644)
	})
}

const notes = 14

// writeFiles makes notes of some 4,000 characters and logs of 80,000: 17 files.
func writeFiles(root *os.Root) error {
	write := func(name string, lines int) error {
		var b strings.Builder
		for i := range lines {
			fmt.Fprintf(&b, "%s, line %d of %d: what stands here is only long.\n", name, i+1, lines)
		}
		return root.WriteFile(name, []byte(b.String()), 0o644)
	}
	for _, dir := range []string{"notes", "big"} {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for i := range notes {
		if err := write(fmt.Sprintf("notes/%02d.md", i+1), 70); err != nil {
			return err
		}
	}
	for _, name := range []string{"big/a.log", "big/b.log", "big/c.log"} {
		if err := write(name, 1_350); err != nil {
			return err
		}
	}
	return nil
}

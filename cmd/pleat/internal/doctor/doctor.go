// Package doctor examines an installation: each finding says what there is, and what to do if something is
// wrong.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/hook"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
	"github.com/pleat-dev/pleat/internal/localserver"
	"github.com/pleat-dev/pleat/wire/gemini"
)

// Options say what is examined.
type Options struct {
	Version  string
	Settings []string                                                         // the files in force
	Outside  bool                                                             // they say that agents compact without pleat
	Wrong    error                                                            // what is wrong with them
	Open     func(context.Context) (st library.Store, path string, err error) // the store, and where it is
	Tenant   string
	Listen   string // where a proxy listens, or would
	Start    string // the command that starts one
	Program  string // this one
	Getenv   func(string) string
	Records  clients.Records // of what was set up
	Hooks    string          // the folder in which hooks note how they went
}

// Report is what was found.
type Report struct {
	Format string  `json:"format"`
	Checks []Check `json:"checks"`
}

// Check is one finding. Its state is ok, note (nothing has to be done) or wrong.
type Check struct {
	What  string `json:"what"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

// Problems is how many findings are wrong.
func (r *Report) Problems() (n int) {
	for _, c := range r.Checks {
		if c.State == "wrong" {
			n++
		}
	}
	return n
}

func (r *Report) Print(p *term.Page) {
	for _, c := range r.Checks {
		state := term.Styled(term.Pad(c.State, 5))
		if c.State == "wrong" {
			state = p.Bold(term.Pad(c.State, 5))
		}
		p.Hang(term.Sprint("%s  %s  ", state, term.Pad(c.What, 8)), c.Found)
		if c.Do != "" {
			p.Hang("                 do: ", c.Do)
		}
	}
}

// format is the form of a report as JSON.
const format = "pleat/doctor/1"

type doctor struct {
	Options
	Report
}

// Examine looks at everything. Nothing is changed.
func Examine(ctx context.Context, o Options) *Report {
	d := &doctor{Options: o, Report: Report{Format: format, Checks: []Check{}}}
	d.ok("version", "pleat "+o.Version)
	d.examineSettings()
	d.examineStore(ctx)
	running := d.examineProxy(ctx)
	d.examineNetwork()
	d.examineKeys()
	for _, s := range localserver.Running(ctx, nil) {
		d.ok("server", fmt.Sprintf("%s at %s, %s", s.Kind, s.BaseURL, term.Plural(len(s.Models), "model")))
	}
	d.examineAgents(running)
	return &d.Report
}

func (d *doctor) ok(what, found string) { d.Checks = append(d.Checks, Check{what, "ok", found, ""}) }

func (d *doctor) note(what, found string) {
	d.Checks = append(d.Checks, Check{what, "note", found, ""})
}

func (d *doctor) wrong(what, found, do string) {
	d.Checks = append(d.Checks, Check{what, "wrong", found, do})
}

func (d *doctor) examineSettings() {
	if d.Wrong != nil {
		d.wrong("config", d.Wrong.Error(), "correct it; \"pleat config\" shows what is in force")
		return
	}
	if len(d.Settings) == 0 {
		d.ok("config", "no pleat.toml: every command has its defaults")
	}
	for _, path := range d.Settings {
		d.ok("config", path)
	}
	if d.Outside {
		d.note("config", "inside = false: agents compact without pleat here")
	}
}

func (d *doctor) examineStore(ctx context.Context) {
	store, path, err := d.Open(ctx)
	switch {
	case err == nil:
		defer store.Close()
		list, err := library.Conversations(ctx, store, d.Tenant)
		if err == nil && len(list) > 0 { // a list needs no key
			_, err = library.Begins(ctx, store, list[0].Key)
		}
		if err != nil {
			d.wrong("store", term.WithoutPassword(err.Error()),
				"if it is encrypted, give its key; look at it with \"pleat store verify\"")
			return
		}
		d.ok("store", fmt.Sprintf("%s, %s", term.WithoutPassword(path), term.Plural(len(list), "session")))
	case path != "" && term.Missing(path) && stores.Scheme(path) == "":
		if err := canMake(filepath.Dir(path)); err != nil {
			d.wrong("store", fmt.Sprintf("none yet, and %s cannot be made: %v", path, err),
				"name another with --store or PLEAT_STORE, or see to the folder's permissions")
			return
		}
		d.note("store", "none yet; \"pleat compact FILE\" or \"pleat run\" makes "+path)
	default:
		d.wrong("store", term.WithoutPassword(err.Error()),
			"name another with --store or PLEAT_STORE, or see to its permissions and its key")
	}
}

// canMake reports why a folder cannot be made or written to; nil: it can.
func canMake(dir string) error {
	for term.Missing(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	try, err := os.MkdirTemp(dir, ".pleat-*")
	if err != nil {
		return err
	}
	return os.Remove(try)
}

// examineProxy reports whether a proxy of ours runs.
func (d *doctor) examineProxy(ctx context.Context) (running bool) {
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	running, status, err := tally.Probe(ctx, "http://"+d.Listen)
	another := "use another port: " + d.Start + " --listen HOST:PORT"
	switch {
	case running:
		switch why := tally.Unready(ctx, d.Listen); why {
		case "":
			d.ok("proxy", "answers at "+d.Listen)
		case tally.Draining:
			d.note("proxy", "answers at "+d.Listen+", and drains: new conversations pass unchanged")
		default:
			d.wrong("proxy", fmt.Sprintf("answers at %s, but cannot fold: %s", d.Listen, why),
				"see to that, and start the proxy again")
		}
	case err == nil:
		d.wrong("proxy", fmt.Sprintf("another program answers at %s (%s)", d.Listen, status), "end it, or "+another)
	default:
		l, err := net.Listen("tcp", d.Listen)
		if err != nil {
			d.wrong("proxy", err.Error(), another)
			break
		}
		_ = l.Close()
		d.note("proxy", fmt.Sprintf("none at %s; agents set up with --inside need none; \"%s%s\" starts one there",
			d.Listen, d.Start, tally.At(d.Listen)))
	}
	return running
}

// examineNetwork says how providers are reached from here, and whether agents reach pleat. A proxy that
// runs was perhaps started in another environment.
func (d *doctor) examineNetwork() {
	addresses := []string{"https://api.anthropic.com", "https://api.openai.com", gemini.DefaultBaseURL}
	for _, name := range baseNames {
		addresses = append(addresses, d.Getenv(name))
	}
	for _, line := range webproxy.For(addresses...) {
		d.ok("network", line)
	}
	if do := webproxy.Exposed(d.Getenv); do != "" {
		d.wrong("network", "a web proxy is set, and NO_PROXY does not name 127.0.0.1: it may get what agents "+
			"send to pleat, with their keys", do)
	}
}

// baseNames are the variables that name another server than the provider's.
var baseNames = []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"}

func (d *doctor) examineKeys() {
	var set []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		value := d.Getenv(name)
		if value != "" {
			set = append(set, name)
		}
		if strings.ContainsAny(value, " \t\r\n\"'") {
			d.wrong("keys", name+" has spaces, quotes or line ends in it", "set it again, without them")
		}
	}
	if len(set) > 0 {
		d.ok("keys", strings.Join(set, ", ")+" set")
	} else {
		d.note("keys", "none in the environment; only \"pleat run\" needs one, or a model server on this machine; agents "+
			"have logins of their own")
	}
	for _, name := range baseNames {
		if base := d.Getenv(name); base != "" {
			d.note("keys", name+" is "+term.WithoutPassword(base)+"; \"pleat wrap\" forwards to it")
		}
	}
}

// examineAgents looks for the agents that are here, and whether those that are set up work.
func (d *doctor) examineAgents(running bool) {
	var here, away []string
	for _, c := range clients.All {
		inside, pointed := d.Records.Has(c.InsideRecords()...), d.Records.Has(c.Name)
		if c.Installed() {
			here = append(here, c.Name)
		} else if inside || pointed {
			away = append(away, c.Title)
		}
		if inside {
			d.examineInside(c)
		}
		if pointed {
			d.examinePointed(c, running)
		}
	}
	slices.Sort(here)
	if len(here) > 0 {
		d.ok("agents", "found "+strings.Join(here, ", "))
	} else if len(away) == 0 {
		d.note("agents", "no agent that pleat knows is on the PATH; \"pleat setup\" lists them")
	}
	if len(away) > 0 {
		d.note("agents", "set up, but not on the PATH here: "+strings.Join(away, ", "))
	}
}

// examinePointed examines an agent that was pointed to the proxy.
func (d *doctor) examinePointed(c clients.Client, running bool) {
	points, err := c.Points(d.Listen, d.Getenv)
	switch {
	case err != nil:
		d.wrong("agents", err.Error(), "pleat setup "+c.Name+" --undo, or change that")
	case !points:
		d.wrong("agents", fmt.Sprintf("%s was set up, but %s does not name %s", c.Title, c.Path(d.Getenv), d.Listen),
			"pleat doctor --listen ADDRESS if your proxy is elsewhere, else pleat setup "+c.Name+" or --undo")
	case !running:
		d.wrong("agents", fmt.Sprintf("%s sends its requests to %s, where no proxy runs", c.Title, d.Listen),
			d.Start+tally.At(d.Listen)+", or pleat setup "+c.Name+" --undo")
	default:
		d.ok("agents", c.Title+" is set up")
	}
}

// examineInside examines an agent that was set up to run pleat.
func (d *doctor) examineInside(c clients.Client) {
	again := "pleat setup " + c.Name + " --inside, or --undo"
	if d.Program == "" || !c.IsInside(d.Program, d.Getenv) {
		d.wrong("agents", c.Title+" was set up to run pleat, but not this program, or not any more", again)
		return
	}
	s, err := hook.Read(d.Hooks, c.Name)
	when := s.Begun.Format(time.DateTime)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Name == "codex" && !c.Reviewed(d.Getenv):
		d.note("agents", "Codex runs pleat when it compacts, once you have reviewed its hooks: type /hooks in Codex")
	case errors.Is(err, fs.ErrNotExist):
		d.ok("agents", c.Title+" runs pleat when it compacts; it has not yet")
	case err != nil:
		d.wrong("agents", err.Error(), "delete the file")
	case s.Error != "":
		d.wrong("agents", fmt.Sprintf("%s compacted at %s, and pleat failed: %s", c.Title, when, s.Error),
			"fix that, or pleat setup "+c.Name+" --inside --undo")
	case s.Ended.IsZero() && time.Since(s.Begun) > hook.Time:
		d.wrong("agents", fmt.Sprintf("%s compacted without pleat at %s: pleat was stopped", c.Title, when), again)
	default:
		d.ok("agents", fmt.Sprintf("%s runs pleat when it compacts; the last time at %s, as session %s", c.Title, when,
			s.Session))
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clientconfig"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/internal/localserver"
	"github.com/pleat-dev/pleat/wire/gemini"
)

func doctorCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Args:  noArguments,
		Short: "check the installation and suggest fixes",
		Long: `Checks the version, the settings, the store, the proxy and its port, the keys in the
environment (it names them and never shows them), model servers on this machine, and the
agents that are set up. Each line says what was found, and what to do if something is wrong.
The exit code is 1 if something is.`,
		Example: "pleat doctor\npleat doctor --json",
	}
	fs := c.Flags()
	d := &doctor{store: stores.Declare(fs), Format: "pleat/doctor/1", Checks: []check{}}
	fs.StringVar(&d.listen, "listen", "",
		"where the proxy listens, or would: `ADDRESS` (default: as agents are set up)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	c.RunE = func(c *cobra.Command, _ []string) error { // it must be able to report wrong settings
		_, err := settle(p, c)
		d.p, d.listen = p, cmp.Or(d.listen, proxyOf(p))
		d.examine(c.Context(), c.Root(), err)
		if err := p.Output(*asJSON, d); err != nil {
			return err
		}
		if n := d.count("wrong"); n > 0 {
			return fmt.Errorf("%s found", term.Plural(n, "problem"))
		}
		return nil
	}
	return c
}

// check is one finding. Its state is ok, note (nothing has to be done) or wrong.
type check struct {
	What  string `json:"what"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
}

type doctor struct {
	Format string  `json:"format"`
	Checks []check `json:"checks"`

	p      *term.Console
	store  *stores.Flags
	listen string
}

func (d *doctor) add(what, state, found, do string) {
	d.Checks = append(d.Checks, check{what, state, found, do})
}

func (d *doctor) count(state string) (n int) {
	for _, c := range d.Checks {
		if c.State == state {
			n++
		}
	}
	return n
}

func (d *doctor) Print(p *term.Page) {
	for _, c := range d.Checks {
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

func (d *doctor) examine(ctx context.Context, root *cobra.Command, settings error) {
	d.add("version", "ok", "pleat "+version(), "")
	if files, err := settingsFiles(d.p, root); cmp.Or(err, settings) != nil {
		d.add("config", "wrong", cmp.Or(err, settings).Error(), "correct it; \"pleat config\" shows what is in force")
	} else if len(files) == 0 {
		d.add("config", "ok", "no pleat.toml: every command has its defaults", "")
	} else {
		for _, f := range files {
			d.add("config", "ok", f.path, "")
			if values, _ := f.lookup(hookName, "inside"); slices.Equal(values, []string{"false"}) {
				d.add("config", "note", "inside = false: agents compact without pleat here", "")
			}
		}
	}
	d.examineStore(ctx)
	running := d.examineProxy(ctx)
	d.examineNetwork()
	d.examineKeys()
	for _, s := range localserver.Running(ctx, nil) {
		d.add("server", "ok", fmt.Sprintf("%s at %s, %s", s.Kind, s.BaseURL, term.Plural(len(s.Models), "model")), "")
	}
	d.examineAgents(running)
}

func (d *doctor) examineStore(ctx context.Context) {
	store, path, err := stores.OpenAs(ctx, d.p, d.store, stores.MustExist)
	switch {
	case err == nil:
		defer store.Close()
		list, err := library.Conversations(ctx, store, d.store.Tenant)
		if err == nil && len(list) > 0 { // a list needs no key
			_, err = library.Begins(ctx, store, list[0].Key)
		}
		if err != nil {
			d.add("store", "wrong", term.WithoutPassword(err.Error()),
				"if it is encrypted, give its key; look at it with \"pleat store verify\"")
			return
		}
		d.add("store", "ok", fmt.Sprintf("%s, %s", term.WithoutPassword(path), term.Plural(len(list), "session")), "")
	case path != "" && missing(path):
		if err := canMake(filepath.Dir(path)); err != nil {
			d.add("store", "wrong", fmt.Sprintf("none yet, and %s cannot be made: %v", path, err),
				"name another with --store or PLEAT_STORE, or see to the folder's permissions")
			return
		}
		d.add("store", "note", "none yet; \"pleat compact FILE\" or \"pleat run\" makes "+path, "")
	default:
		d.add("store", "wrong", term.WithoutPassword(err.Error()),
			"name another with --store or PLEAT_STORE, or see to its permissions and its key")
	}
}

// canMake reports why a folder cannot be made or written to; nil: it can.
func canMake(dir string) error {
	for missing(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	try, err := os.MkdirTemp(dir, ".pleat-*")
	if err != nil {
		return err
	}
	return os.Remove(try)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) && stores.Scheme(path) == ""
}

// examineProxy reports whether a proxy of ours runs.
func (d *doctor) examineProxy(ctx context.Context) (running bool) {
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	start := proxyStart(runtime.GOOS, d.p.Getenv)
	running, status, err := tally.Probe(ctx, "http://"+d.listen)
	if errors.Is(err, tally.ErrAddress) {
		d.add("proxy", "wrong", err.Error(), "give --listen as HOST:PORT")
		return false
	}
	if err == nil {
		if why := tally.Unready(ctx, d.listen); running && why == tally.Draining {
			d.add("proxy", "note", "answers at "+d.listen+", and drains: new conversations pass unchanged", "")
		} else if running && why != "" {
			d.add("proxy", "wrong", fmt.Sprintf("answers at %s, but cannot fold: %s", d.listen, why),
				"see to that, and start the proxy again")
		} else if running {
			d.add("proxy", "ok", "answers at "+d.listen, "")
		} else {
			d.add("proxy", "wrong", fmt.Sprintf("another program answers at %s (%s)", d.listen, status),
				"end it, or use another port, such as: "+start+" --listen "+beside(d.listen))
		}
	} else if l, err := net.Listen("tcp", d.listen); err == nil {
		_ = l.Close()
		d.add("proxy", "note", fmt.Sprintf("none at %s; \"%s%s\" starts one there", d.listen, start, tally.At(d.listen)), "")
	} else {
		d.add("proxy", "wrong", err.Error(), "use another port, such as: "+start+" --listen "+beside(d.listen))
	}
	return running
}

// examineNetwork says how providers are reached from here, and whether agents reach pleat. A proxy that
// runs was perhaps started in another environment.
func (d *doctor) examineNetwork() {
	addresses := []string{"https://api.anthropic.com", "https://api.openai.com", gemini.DefaultBaseURL}
	for _, name := range baseNames {
		addresses = append(addresses, d.p.Getenv(name))
	}
	for _, line := range webProxies(addresses...) {
		d.add("network", "ok", line, "")
	}
	if do := exposed(d.p.Getenv); do != "" {
		d.add("network", "wrong", "a web proxy is set, and NO_PROXY does not name 127.0.0.1: it may get what agents "+
			"send to pleat, with their keys", do)
	}
}

// beside is an address with the next port.
func beside(address string) string {
	host, port, err := net.SplitHostPort(address)
	n, failed := strconv.Atoi(port)
	if err != nil || failed != nil || n >= 65535 {
		return tally.Address
	}
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

// baseNames are the variables that name another server than the provider's.
var baseNames = []string{"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"}

func (d *doctor) examineKeys() {
	var set []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		value := d.p.Getenv(name)
		if value == "" {
			continue
		}
		set = append(set, name)
		if strings.ContainsAny(value, " \t\r\n\"'") {
			d.add("keys", "wrong", name+" has spaces, quotes or line ends in it", "set it again, without them")
		}
	}
	if len(set) > 0 {
		d.add("keys", "ok", strings.Join(set, ", ")+" set", "")
	} else {
		d.add("keys", "note", "none in the environment; \"pleat run\" needs one, or a model server on this machine; "+
			"agents may have logins of their own", "")
	}
	for _, name := range baseNames {
		if base := d.p.Getenv(name); base != "" {
			d.add("keys", "note", name+" is "+term.WithoutPassword(base)+"; \"pleat wrap\" forwards to it", "")
		}
	}
}

// examineAgents looks for the agents that are here, and whether those that are set up reach
// the proxy.
func (d *doctor) examineAgents(running bool) {
	var here []string
	for _, c := range clients {
		// "continue" is also a builtin of shells.
		if _, err := exec.LookPath(c.name); err == nil && c.name != "continue" {
			here = append(here, c.name)
		}
		d.examineInside(c)
		undo, err := undoFile(d.p, c.name)
		if err != nil || missing(undo) {
			continue
		}
		c, err := c.settled("http://"+d.listen, d.p.Getenv)
		switch path := c.path(d.p.Getenv); {
		case err != nil:
			d.add("agents", "wrong", err.Error(), "pleat setup "+c.name+" --undo, or change that")
		case !d.pointsHere(path, c.keys):
			d.add("agents", "wrong", fmt.Sprintf("%s was set up, but %s does not name %s", c.title, path, d.listen),
				"pleat doctor --listen ADDRESS if your proxy is elsewhere, else pleat setup "+c.name+" or --undo")
		case !running:
			d.add("agents", "wrong", fmt.Sprintf("%s sends its requests to %s, where no proxy runs", c.title, d.listen),
				proxyStart(runtime.GOOS, d.p.Getenv)+tally.At(d.listen)+", or pleat setup "+c.name+" --undo")
		default:
			d.add("agents", "ok", c.title+" is set up", "")
		}
	}
	slices.Sort(here)
	if len(here) > 0 {
		d.add("agents", "ok", "found "+strings.Join(here, ", "), "")
	} else {
		d.add("agents", "note", "none of those that pleat knows is on the PATH; \"pleat setup\" lists them", "")
	}
}

func (d *doctor) examineInside(c client) {
	if !changed(d.p, c.insideRecords()...) {
		return
	}
	again := "pleat setup " + c.name + " --inside, or --undo"
	if program, err := os.Executable(); err != nil || !c.isInside(d.p, program) {
		d.add("agents", "wrong", c.title+" was set up to run pleat, but not this program, or not any more", again)
		return
	}
	s, err := readHookState(d.p, c.name)
	when := s.Begun.Format(time.DateTime)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("agents", "ok", c.title+" runs pleat when it compacts; it has not yet", "")
	case err != nil:
		d.add("agents", "wrong", err.Error(), "delete the file")
	case s.Error != "":
		d.add("agents", "wrong", fmt.Sprintf("%s compacted at %s, and pleat failed: %s", c.title, when, s.Error),
			"fix that, or pleat setup "+c.name+" --inside --undo")
	case s.Ended.IsZero() && time.Since(s.Begun) > hookTime:
		d.add("agents", "wrong",
			fmt.Sprintf("%s compacted without pleat at %s: pleat was stopped", c.title, when), again)
	default:
		d.add("agents", "ok", fmt.Sprintf("%s runs pleat when it compacts; the last time at %s, as session %s", c.title,
			when, s.Session), "")
	}
}

// pointsHere reports whether one of a client's keys names the proxy.
func (d *doctor) pointsHere(path string, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool {
		name, _, _ := strings.Cut(k, "=")
		value, err := clientconfig.Get(path, strings.Split(name, "/")...)
		return err == nil && strings.Contains(fmt.Sprint(value), d.listen)
	})
}

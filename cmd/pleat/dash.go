package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/dash"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func dashCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "dash",
		Args:  noArguments,
		Short: "show sessions, folds and savings in a browser",
		Long: `Serves a dashboard over the sessions in the store and those that agents keep in your home folder:
what fills their windows, what was folded and why, what another budget or policy would fold, what
was done to each file, and a search over all of it. It prints its address. It never changes a
session; a file of an agent is read into the store when it is opened.

It serves this machine alone. To serve others it needs a token, which a browser asks for once.
"pleat proxy --dash" serves the same next to a proxy, and follows its sessions.`,
		Example: `# look at every session on this machine
pleat dash --open
# from another machine, with a token
openssl rand -hex 24 > token
pleat dash --listen 0.0.0.0:4242 --token-file token`,
	}
	fs := c.Flags()
	f := stores.Declare(fs)
	listen := fs.String("listen", "127.0.0.1:4242", "listen on `ADDRESS`")
	tokenFile := fs.String("token-file", "", "require the token in `FILE`")
	open := fs.Bool("open", false, "open it in the browser")
	index := stores.DeclareIndex(fs)
	c.RunE = runs(p, func(ctx context.Context, p *term.Console, _ []string) error {
		token, err := tally.ReadToken(*tokenFile)
		if err != nil {
			return err
		}
		if err := mayListen(*listen, token, false, ""); err != nil {
			return err
		}
		l, err := listenAt(ctx, *listen, "a pleat proxy listens on "+*listen+", and with --dash it has the dashboard at http://"+*listen+"/")
		if err != nil {
			return err
		}
		defer l.Close()
		st, err := stores.Open(ctx, p, f)
		if err != nil {
			return err
		}
		o := library.Options{Store: st, Tenant: f.Tenant}
		if o.Index, err = index.Path(p, f); err == nil {
			err = serveDash(ctx, p, o, l, token, *open)
		}
		return errors.Join(err, st.Close())
	})
	return c
}

func serveDash(
	ctx context.Context, p *term.Console, of library.Options, l net.Listener, token string, open bool,
) error {
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	h, end, err := dashboard(p, of, dash.Options{Token: token, Logger: log})
	if err != nil {
		return err
	}
	defer end()
	address := fmt.Sprintf("http://%s/", l.Addr())
	p.Printf("%s\n", address)
	if open {
		p.Note("If no browser opens, open that address yourself.\n")
		if err := openBrowser(address); err != nil {
			p.Note("pleat: no browser could be opened: %v\n", err)
		}
	}
	return serveUntilDone(ctx, l, h, log)
}

// dashboard makes a dashboard over a store and the folders of agents. The returned function
// ends it.
func dashboard(p *term.Console, of library.Options, o dash.Options) (http.Handler, func() error, error) {
	of.Home, of.Logger = p.Home(), o.Logger
	lib := library.New(of)
	o.Library, o.Store = lib, of.Store
	h, err := dash.New(o)
	if err != nil {
		return nil, nil, errors.Join(err, lib.Close())
	}
	return h, func() error { return errors.Join(h.Close(), lib.Close()) }, nil
}

func openBrowser(address string) error {
	switch runtime.GOOS {
	case "darwin":
		return exec.Command("open", address).Start()
	case "windows":
		return exec.Command("rundll32", "url.dll,FileProtocolHandler", address).Start()
	}
	return exec.Command("xdg-open", address).Start()
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/clients"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/service"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
)

func statusCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Args:  noArguments,
		Short: "show what the proxy did: sessions, folds, cost with and without pleat",
		Long: `Asks the running proxy for the sessions used last: how full their windows are, how often they
were folded, how much shorter requests became, and what it cost by the price list.`,
		Example: "pleat status",
	}
	fs := c.Flags()
	f := &proxyFlags{store: stores.Declare(fs)}
	fs.StringVar(&f.listen, "listen", "", "ask the proxy that listens on `ADDRESS` (default: as agents are set up)")
	fs.StringVar(&f.tokenFile, "token-file", "", "send the token in `FILE`")
	prints(p, c, f.status)
	return c
}

// running is the proxy that the flags describe, which it asks with the token in a file.
func (f *proxyFlags) running(p *term.Console, tokenFile string) tally.Client {
	return tally.Client{Address: f.listen, TokenFile: tokenFile, Start: proxyStart(p)}
}

func (f *proxyFlags) drain(ctx context.Context, p *term.Console) error {
	if err := f.running(p, cmp.Or(f.drainFile, f.tokenFile)).Drain(ctx); err != nil {
		return err
	}
	p.Printf("New conversations pass the proxy unchanged from now on; it folds those that it has as before. "+
		"\"pleat status%s\" lists them: stop it when they have ended.\n", tally.At(f.listen))
	return nil
}

func (f *proxyFlags) status(ctx context.Context, p *term.Console, _ []string) (term.Result, error) {
	f.listen = cmp.Or(f.listen, proxyOf(p))
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return nil, term.UsageError(fmt.Sprintf("--listen %s: %v (want HOST:PORT)", f.listen, err))
	}
	s, err := f.running(p, f.tokenFile).Status(ctx)
	if err != nil {
		return nil, err
	}
	st, _, err := stores.OpenAs(ctx, p, f.store, stores.ReadOnly)
	if err == nil { // else there is none, and titles are left out
		defer st.Close()
	}
	s.Entitle(ctx, st)
	return s, nil
}

// proxyStart is the command that starts a proxy on this machine.
func proxyStart(p *term.Console) string {
	return service.Command(runtime.GOOS, p.Getenv("XDG_RUNTIME_DIR"))
}

// serviceHere is the service of this machine, for the proxy with these arguments.
func serviceHere(p *term.Console, args []string) (*service.Service, error) {
	program, err := installed()
	if err != nil {
		return nil, err
	}
	return service.New(service.Options{
		System: runtime.GOOS, Home: p.Home(), Config: p.Getenv("XDG_CONFIG_HOME"),
		Command: append([]string{program, "proxy"}, args...), Environ: webproxy.Environ(p.Getenv),
		Ending: drainTime + 10*time.Second,
	})
}

// given are the flags that were set, as arguments for a program in another folder.
func given(fs *pflag.FlagSet) (args []string) {
	fs.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		kind, _ := pflag.UnquoteUsage(f)
		for _, v := range values {
			if abs, err := filepath.Abs(v); err == nil && (kind == "FILE" || kind == "FOLDER") &&
				!strings.Contains(v, "://") {
				v = abs
			}
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

func startService(ctx context.Context, p *term.Console, address string, args []string) error {
	s, err := serviceHere(p, args)
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return err
	}
	p.Printf("The proxy starts now and whenever you log in; \"pleat proxy stop\" ends both.\n")
	if s.Log != "" {
		p.Printf("Its log: %s\n", s.Log)
	}
	if !tally.Await(ctx, address) {
		p.Note("pleat: it does not answer at %s yet; \"pleat status%s\" asks again\n", address, tally.At(address))
	}
	return nil
}

func stopService(ctx context.Context, p *term.Console) error {
	s, err := serviceHere(p, nil)
	if err == nil {
		err = s.Stop(ctx)
	}
	if err != nil {
		return err
	}
	p.Printf("The proxy is stopped, and no longer starts when you log in.\n")
	for _, c := range clients.All {
		if records(p).Has(c.Name) {
			p.Printf("%s still sends its requests to a proxy: pleat setup %s --undo\n", c.Title, c.Name)
		}
	}
	return nil
}

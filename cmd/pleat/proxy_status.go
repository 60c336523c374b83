package main

import (
	"cmp"
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/stores"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

func statusCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Args:  noArguments,
		Short: "show what the proxy did: sessions, folds, cost with and without pleat",
		Long: `Asks the running proxy for the sessions charged last: how full their windows are, how often
they were folded, what was sent instead of what, and what it cost by the price list.`,
		Example: "pleat status",
	}
	fs := c.Flags()
	f := &proxyFlags{store: stores.Declare(fs)}
	fs.StringVar(&f.listen, "listen", "", "ask the proxy that listens on `ADDRESS` (default: as agents are set up)")
	fs.StringVar(&f.tokenFile, "token-file", "", "send the token in `FILE`")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object")
	c.RunE = runs(p, f.status)
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

func (f *proxyFlags) status(ctx context.Context, p *term.Console, _ []string) error {
	f.listen = cmp.Or(f.listen, proxyOf(p))
	if _, _, err := net.SplitHostPort(f.listen); err != nil {
		return term.UsageError(fmt.Sprintf("--listen %s: %v (want HOST:PORT)", f.listen, err))
	}
	s, err := f.running(p, f.tokenFile).Status(ctx)
	if err != nil {
		return err
	}
	if st, _, err := stores.OpenAs(ctx, p, f.store, stores.ReadOnly); err == nil {
		defer st.Close()
		s.Entitle(ctx, st)
	} else {
		s.Entitle(ctx, nil)
	}
	return p.Output(f.asJSON, s)
}

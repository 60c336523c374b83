package main

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/service"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/tally"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/webproxy"
)

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
		System: runtime.GOOS, Home: cmp.Or(p.Getenv("HOME"), p.Getenv("USERPROFILE")), Config: p.Getenv("XDG_CONFIG_HOME"),
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
	if err == nil {
		p.Printf("The proxy is stopped, and no longer starts when you log in.\n")
	}
	return err
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// ask sends a request to the running proxy that the flags describe.
func (f *proxyFlags) ask(ctx context.Context, method, path string) ([]byte, error) {
	token, err := f.token()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+f.listen+path, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the proxy at %s: %w", f.listen, err)
	}
	if token != "" {
		req.Header.Set(tokenHeader, token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the proxy at %s: %w (is it running? --listen says where)", f.listen, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the proxy at %s: %s: %s", f.listen, resp.Status, clip(oneLine(string(body)), 200))
	}
	return body, nil
}

func (f *proxyFlags) drain(ctx context.Context, p *program) error {
	if _, err := f.ask(ctx, http.MethodPost, "/pleat/drain"); err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, "the proxy takes no new conversations; stop it when \"pleat proxy status\" shows none that still works")
	return nil
}

func (f *proxyFlags) status(ctx context.Context, p *program) error {
	body, err := f.ask(ctx, http.MethodGet, "/pleat/status")
	if err != nil {
		return err
	}
	var s proxyStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return fmt.Errorf("read the proxy's status: %w", err)
	}
	if f.asJSON {
		return writeJSON(p.stdout, s)
	}
	return s.print(p.stdout)
}

func (s proxyStatus) print(out io.Writer) error {
	if s.Draining {
		fmt.Fprintln(out, "draining: new conversations pass as they are")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "SESSION\tMODEL\tREQUESTS\tCONTEXT\tFOLDS\tSENT\tGOT\tCACHE READ\tSPENT\tWITHOUT\t")
	row := func(name, model, context string, folds string, t sessionTally) {
		cached := "-"
		if t.Prompt > 0 {
			cached = percent(int(t.CacheRead), int(t.Prompt))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, model, t.Requests, context, folds,
			byteSize(t.BytesIn), byteSize(t.BytesOut), cached, dollars(t.USD), dollars(t.Without))
	}
	for _, j := range s.Sessions {
		row(clip(j.Session, 14), clip(j.Model, 20), fmt.Sprintf("%.0f %% %s", j.Snapshot.Utilization*100, j.Snapshot.State), fmt.Sprint(j.Folds), j.sessionTally)
	}
	row("all", "", "", "", s.All)
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Sessions) == 0 {
		fmt.Fprintln(out, "no conversation has come through yet")
	}
	fmt.Fprintln(out, strings.TrimSpace("SENT is what clients sent, GOT what providers got of it; WITHOUT is what it would have cost at least, unfolded with a cache that is always warm."))
	return nil
}

func dollars(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", usd)
}

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/proxy"
)

// ask sends a request to the running proxy that the flags describe, with the token in a
// file.
func (f *proxyFlags) ask(ctx context.Context, method, path, tokenFile string) ([]byte, error) {
	token, err := readToken(tokenFile)
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
		return nil, fmt.Errorf("ask the proxy at %s: %s: %s", f.listen, resp.Status, term.Clip(term.OneLine(string(body)), 200))
	}
	return body, nil
}

func (f *proxyFlags) drain(ctx context.Context, p *term.Console) error {
	if _, err := f.ask(ctx, http.MethodPost, "/pleat/drain", cmp.Or(f.drainFile, f.tokenFile)); err != nil {
		return err
	}
	p.Printf("the proxy folds no new conversations; stop it when \"pleat proxy status\" shows that none is active\n")
	return nil
}

func (f *proxyFlags) status(ctx context.Context, p *term.Console) error {
	body, err := f.ask(ctx, http.MethodGet, "/pleat/status", f.tokenFile)
	if err != nil {
		return err
	}
	var s proxyStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return fmt.Errorf("read the proxy's status: %w", err)
	}
	return p.Output(f.asJSON, s)
}

func (s proxyStatus) Print(p *term.Page) {
	if s.Draining {
		p.Line("draining: new conversations pass unchanged")
	}
	rows := [][]string{{"SESSION", "MODEL", "REQUESTS", "CONTEXT", "FOLDS", "SENT", "GOT", "CACHE READ", "SPENT", "WITHOUT"}}
	row := func(name, model, context string, folds string, t proxy.Tally) {
		cached := "-"
		if t.Prompt > 0 {
			cached = term.Percent(int(t.CacheRead), int(t.Prompt))
		}
		rows = append(rows, []string{
			name, model, fmt.Sprint(t.Requests), context, folds,
			term.ByteSize(t.BytesIn), term.ByteSize(t.BytesOut), cached, dollars(t.USD), dollars(t.Without),
		})
	}
	for _, j := range s.Sessions {
		name, context, folds := p.Clip(j.Session, 14), "-", "-"
		if j.Messages > 0 {
			context, folds = fmt.Sprintf("%.0f %% %s", j.Snapshot.Utilization*100, j.Snapshot.State), fmt.Sprint(j.Folds)
		}
		row(cmp.Or(name, "(none)"), p.Clip(j.Model, 20), context, folds, j.Tally)
	}
	row("all", "", "", "", s.All)
	p.Table(rows)
	if len(s.Sessions) == 0 {
		p.Line("no conversation has come through yet")
	}
	if s.All.Passed > 0 {
		p.Line("%s passed on, not compacted: the proxy did not understand them; its log names the paths", term.Plural(s.All.Passed, "request"))
	}
	p.Line("SENT is what clients sent, GOT what providers got for it, hidden rounds included. WITHOUT is about what the clients' own requests would have cost. (none) are requests of no session, such as those for titles.")
}

func dollars(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", usd)
}

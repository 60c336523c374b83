package tally

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Address is where a proxy listens unless another address is named.
const Address = "127.0.0.1:4141"

// At is the flag that names the address of a proxy; "": it need not be named.
func At(address string) string {
	if address == Address {
		return ""
	}
	return " --listen " + address
}

// direct reaches proxies of pleat's, through no web proxy.
var direct = &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}

// get sends a request, and reads at most so many bytes of the reply; nil: there was none.
func get(ctx context.Context, method, address, token string, most int64) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		req.Header.Set(tokenHeader, token)
	}
	resp, err := direct.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	return resp, body, err
}

// Probe asks the server at a URL whether it is a proxy of pleat's, and what it answers. The error says why
// nothing answers.
func Probe(ctx context.Context, base string) (ours bool, status string, err error) {
	resp, head, err := get(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/pleat/status", "", 4096)
	if resp == nil {
		return false, "", err
	}
	// A proxy with a token refuses, in its own words.
	answers := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusUnauthorized
	return answers && !isPage(resp) && bytes.Contains(head, []byte("pleat")), resp.Status, err
}

// Runs reports whether a proxy of pleat's answers at a URL.
func Runs(ctx context.Context, base string) bool {
	ours, _, err := Probe(ctx, base)
	return err == nil && ours
}

// Await waits a moment for a proxy to answer at an address.
func Await(ctx context.Context, address string) bool {
	ctx, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	for {
		if ours, _, err := Probe(ctx, "http://"+address); err == nil {
			return ours
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// isPage reports whether a reply is for a browser, such as the dashboard's, which a proxy's is not.
func isPage(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
}

// Unready is why the proxy at an address takes no requests, [Draining] among others; "": it does.
func Unready(ctx context.Context, address string) string {
	resp, text, _ := get(ctx, http.MethodGet, "http://"+address+"/readyz", "", 4096)
	if resp == nil || resp.StatusCode != http.StatusServiceUnavailable {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Client asks a running proxy what its operator may know and do.
type Client struct {
	Address   string
	TokenFile string // has the token; "": there is none
	Start     string // the command that starts a proxy, for who finds none
}

// Status is what the proxy did.
func (c Client) Status(ctx context.Context) (s Status, err error) {
	body, err := c.ask(ctx, http.MethodGet, "/pleat/status")
	if err != nil {
		return s, fmt.Errorf(`%w ("pleat usage" and "pleat store list" have what "pleat wrap" did)`, err)
	}
	if err := json.Unmarshal(body, &s); err != nil || s.Format != statusFormat {
		return s, c.another()
	}
	return s, nil
}

// Drain makes the proxy fold no new conversations.
func (c Client) Drain(ctx context.Context) error {
	_, err := c.ask(ctx, http.MethodPost, "/pleat/drain")
	return err
}

func (c Client) ask(ctx context.Context, method, path string) ([]byte, error) {
	token, err := ReadToken(c.TokenFile)
	if err != nil {
		return nil, err
	}
	resp, body, err := get(ctx, method, "http://"+c.Address+path, token, math.MaxInt64)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("no proxy runs at %s: \"%s%s\" starts one, --listen names another address",
			c.Address, c.Start, At(c.Address))
	case resp == nil:
		return nil, fmt.Errorf("ask the proxy at %s: %w", c.Address, err)
	case isPage(resp), resp.StatusCode == http.StatusNotFound:
		return nil, c.another()
	case err != nil, resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("ask the proxy at %s: %s: %s", c.Address, resp.Status,
			term.Clip(term.OneLine(string(body)), 200))
	}
	return body, nil
}

func (c Client) another() error {
	return fmt.Errorf("what answers at %s is no pleat proxy: --listen names another address", c.Address)
}

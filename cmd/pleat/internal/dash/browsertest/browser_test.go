package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/library"
	"github.com/pleat-dev/pleat/recall"
)

// browser is a headless Chromium that writes down what no page may do.
type browser struct {
	ctx context.Context
	mu  sync.Mutex
	bad []string
}

// openBrowser starts Chromium. Where there is none the test is skipped.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("long: run without -short by go test work")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium here")
	}
	profile, err := os.MkdirTemp("", "pleat-chromium")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // processes of a browser may outlive it by a moment
	opts := append(
		slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(profile), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(2*time.Minute),
	)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // waits for it to end
	b := &browser{ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	must(t, chromedp.Run(ctx, log.Enable(), network.Enable(), runtime.Enable()))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, bad := range b.bad {
			t.Error(bad)
		}
	})
	return b
}

func (b *browser) hear(ev any) {
	bad := ""
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		bad = "exception: " + ev.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		bad = fmt.Sprint("console: ", ev.Type)
	case *log.EventEntryAdded:
		bad = "log: " + ev.Entry.Text + " " + ev.Entry.URL
	case *network.EventRequestWillBeSent:
		if !onLoopback(ev.Request.URL) {
			bad = "a request leaves this machine: " + ev.Request.URL
		}
	}
	if bad != "" {
		b.mu.Lock()
		b.bad = append(b.bad, bad)
		b.mu.Unlock()
	}
}

// run runs actions for at most a minute.
func (b *browser) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, time.Minute)
	defer stop()
	must(t, chromedp.Run(ctx, actions...))
}

// tornBoxes counts boxes of places that show a part of a line.
const tornBoxes = `[...document.querySelectorAll(".found pre")].filter((p) => {
	const line = parseFloat(getComputedStyle(p).lineHeight), lines = p.clientHeight / line;
	return p.scrollHeight > p.clientHeight && Math.abs(lines - Math.round(lines)) * line > 1;
}).length`

// show loads a page, judges it and keeps a picture.
func (b *browser) show(t *testing.T, name, address string, width int64) {
	t.Helper()
	var text string
	var wide, torn int
	var shot []byte
	b.run(
		t, emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600), chromedp.Navigate(address),
		chromedp.WaitReady("footer"), chromedp.Text("main", &text),
		chromedp.Evaluate("document.documentElement.scrollWidth", &wide), chromedp.Evaluate(tornBoxes, &torn),
		chromedp.FullScreenshot(&shot, 100),
	)
	if len(text) < 40 {
		t.Errorf("%s says only %q", name, text)
	}
	if int64(wide) > width {
		t.Errorf("%s is %d pixels wide in a window of %d", name, wide, width)
	}
	if torn > 0 {
		t.Errorf("%s has %d boxes that cut a line through, in a window of %d", name, torn, width)
	}
	if dir := os.Getenv("PLEAT_SCREENSHOTS"); dir != "" {
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, width)), shot, 0o644))
	}
}

// Every page, at the width of a desk and of a phone, light and dark.
func TestBrowserPages(t *testing.T) {
	b := openBrowser(t)
	home := t.TempDir()
	claudeFiles(t, home)
	s := newSite(t, home)
	for i, says := range []string{
		"Mend the precedence of unary minus in the parser, and show me the failing test first.",
		"Move the lexer to its own package.",
	} {
		c := newClient(s, says)
		for range 60 - 40*i {
			c.step(t)
		}
	}
	id := s.busiest(t)
	sess, err := s.lib.Open(t.Context(), id)
	must(t, err)
	q := "?s=" + url.QueryEscape(id)
	folds := sess.Report().Folds
	pages := map[string]string{
		"overview": "/", "session": "/dash/session" + q, "plan": "/dash/plan" + q,
		"ledger": "/dash/ledger" + q,
		"calls":  "/dash/ledger" + q + "&show=calls",
		"file":   "/dash/ledger" + q + "&path=" + files[1],
		"search": "/dash/search?q=parseExpr", "search-in": "/dash/search" + q + "&q=precedence",
		"fold": "/dash/fold" + q + "&handle=" + folds[len(folds)-1].Handle,
		"page": "/dash/fold" + q + "&handle=" + folds[0].Handle,
	}
	b.run(t, chromedp.Navigate(s.url+pages["session"]), chromedp.WaitReady("footer")) // the overview has its count then
	for _, scheme := range []string{"light", "dark"} {
		b.run(
			t,
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
			}),
		)
		for name, page := range pages {
			for _, width := range []int64{1400, 390} {
				b.show(t, name+"-"+scheme, s.url+page, width)
			}
		}
	}
}

// A page follows a session that runs through the proxy, without being loaded again.
func TestBrowserLive(t *testing.T) {
	b := openBrowser(t)
	s := newSite(t, "")
	c := newClient(s, "Mend the parser.")
	c.step(t)
	page, err := s.lib.List(t.Context(), library.Filter{})
	must(t, err)
	b.run(
		t, chromedp.Navigate(s.url+"/dash/session?s="+url.QueryEscape(page.Sessions[0].ID)),
		chromedp.WaitVisible(`body[data-state=live]`), chromedp.Evaluate("window.same = true", nil),
	)
	for range 40 {
		c.step(t)
	}
	sess, err := s.lib.Open(t.Context(), page.Sessions[0].ID)
	must(t, err)
	if len(sess.Report().Folds) == 0 {
		t.Fatal("nothing was folded")
	}
	var same bool
	b.run(
		t,
		chromedp.Poll(
			fmt.Sprintf(
				`document.querySelectorAll("#folds ~ .scroll tbody tr").length === %d`,
				min(len(sess.Report().Folds), 50),
			),
			nil,
			chromedp.WithPollingTimeout(50*time.Second),
		),
		chromedp.Evaluate("window.same === true", &same),
	)
	if !same {
		t.Error("the page was loaded again")
	}
}

// The slider asks for another plan.
func TestBrowserSlider(t *testing.T) {
	b := openBrowser(t)
	s := newSite(t, "")
	c := newClient(s, "Mend the parser.")
	for range 40 {
		c.step(t)
	}
	var before, after string
	b.run(
		t,
		chromedp.Navigate(s.url+"/dash/plan?s="+url.QueryEscape(s.busiest(t))),
		chromedp.WaitReady("#result"),
		chromedp.Text("#result .tiles", &before),
		chromedp.Evaluate(
			`{const b = document.getElementById("budget"); b.value = 10000; b.dispatchEvent(new Event("input", {bubbles: true})); 1}`,
			nil,
		),
		chromedp.Poll(
			`new URLSearchParams(location.search).get("budget") === document.getElementById("budget").value && !document.querySelector("[aria-busy]")`,
			nil,
		),
		chromedp.Text("#result .tiles", &after),
	)
	if before == after {
		t.Errorf("the plan did not change: %s", after)
	}
}

// One click unfolds; what a page shows and what it sends as a file are the exact bytes.
// Text that looks like markup is text.
func TestBrowserUnfold(t *testing.T) {
	b := openBrowser(t)
	s := newSite(t, "")
	const hostile = "<script>console.error(1)</script><img src=http://192.0.2.1/x onerror=console.error(2)></pre><h1>\"'&amp; \\u003c"
	text := "\n" + hostile + "\n" + strings.Repeat("a line of what was said: äöü 漢字 "+hostile+"\n", 400) + "the end"
	sess, err := pleat.OpenSession(
		t.Context(), s.store, pleat.Key{Session: "hostile " + hostile},
		&pleat.Options{Budget: pleat.Budget{Window: 8000}},
	)
	must(t, err)
	must(t, sess.Append(t.Context(), pleat.User(hostile)))
	for i := range 6 {
		call := fmt.Sprint("c", i)
		must(
			t,
			sess.Append(
				t.Context(), pleat.Assistant(pleat.Say(hostile), pleat.Call(call, "Read", `{"file_path":"<b>x</b>"}`)),
				pleat.Results(pleat.Result(call, text+fmt.Sprint(i))),
			),
		)
		_, err = sess.View(t.Context(), pleat.Turn{})
		must(t, err)
	}
	var handle, want string
	for _, f := range sess.Folds() {
		if u, err := sess.Unfold(t.Context(), recall.UnfoldRequest{Handle: f.Handle}); err == nil &&
			strings.HasSuffix(u.Whole, "the end2") &&
			!f.Whole() {
			handle, want = f.Handle, u.Whole
		}
	}
	if handle == "" {
		t.Fatal("the result is not folded")
	}
	address := s.url + "/dash/session?s=" + url.QueryEscape(sess.Key().Session)
	var part, whole, file string
	b.run(
		t,
		chromedp.Navigate(address),
		chromedp.WaitReady("footer"),
		chromedp.Click(fmt.Sprintf(`a[href*="handle=%s"]`, handle), chromedp.ByQuery),
		chromedp.WaitReady("#before"),
		chromedp.Evaluate(`document.getElementById("before").textContent`, &part),
		chromedp.Click("a.button", chromedp.ByQuery),
		chromedp.WaitNotPresent("a.button", chromedp.ByQuery),
		chromedp.Evaluate(`document.getElementById("before").textContent`, &whole),
		chromedp.Evaluate(
			`(async () => { const f = document.querySelector("form[method=post]"); const r = await fetch(f.action, {method: "POST", body: new URLSearchParams(new FormData(f))}); return await r.text(); })()`,
			&file, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) },
		),
	)
	if whole != want {
		t.Errorf("the page shows %d bytes, want %d: %.60q", len(whole), len(want), whole)
	}
	if !strings.HasPrefix(want, part) || len(part) >= len(want) {
		t.Errorf("the page at first shows %d bytes of %d", len(part), len(want))
	}
	if !bytes.Equal([]byte(file), []byte(want)) {
		t.Errorf("the file has %d bytes, want %d", len(file), len(want))
	}
	for _, page := range []string{"ledger", "plan", "search"} {
		b.run(t, chromedp.Navigate(strings.Replace(address, "session", page, 1)), chromedp.WaitReady("footer"))
	}
	b.run(t, chromedp.Navigate(s.url), chromedp.WaitReady("footer"))
}

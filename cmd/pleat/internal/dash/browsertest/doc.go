// Package browsertest drives the dashboard with a real browser, headless Chromium. It is a
// module of its own, so that nothing else gets what drives the browser.
package browsertest

package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/upstreamtest"
)

// clientTable is what happened, by scenario and client.
type clientTable struct {
	mu     sync.Mutex
	cells  map[[2]string]string
	models map[string]string // that the server was asked for
	day    string
	inside string // the rest of the page, which people write
}

const insideTitle = "## pleat inside\n"

// newClientTable begins with what the page says, where it is of today and has these scenarios: of
// what is not driven this time, that stays.
func newClientTable(page string) *clientTable {
	c := &clientTable{
		cells: make(map[[2]string]string), models: make(map[string]string), day: time.Now().UTC().Format(time.DateOnly),
	}
	page, c.inside, _ = strings.Cut(page, insideTitle)
	if !strings.Contains(page, c.head()) {
		return c
	}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), "|")
		if len(cells) != 2+len(clientScenarios) {
			continue
		}
		client := strings.TrimSpace(cells[0])
		c.models[client] = strings.TrimSpace(cells[1])
		for i, sc := range clientScenarios {
			c.cells[[2]string{sc.name, client}] = strings.TrimSpace(cells[2+i])
		}
	}
	return c
}

// set notes how a client fared in a scenario, by what the server saw, and writes the page
// to the file that PLEAT_CLIENTS_TABLE names, if it does.
func (c *clientTable) set(scenario, client string, ok bool, log, bare []upstreamtest.Exchange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range log {
		if !x.Side && !x.Agent {
			c.models[client] = x.Model
		}
	}
	cell := seen(log)
	if len(bare) > 0 {
		cell += ", direct " + seen(bare)
	}
	if !ok {
		cell = "**fails** " + cell
	}
	c.cells[[2]string{scenario, client}] = cell
	if name := os.Getenv("PLEAT_CLIENTS_TABLE"); name != "" {
		return os.WriteFile(name, []byte(c.String()), 0o644)
	}
	return nil
}

// seen is a cell of what a server saw.
func seen(log []upstreamtest.Exchange) string {
	turns, folded, own := 0, 0, 0
	for _, x := range log {
		if x.Summary {
			own++
		}
		if x.Side {
			continue
		}
		if turns++; x.Folded {
			folded++
		}
	}
	cell := fmt.Sprintf("%d/%d/%d", turns, folded, own)
	if n := refused(log); n > 0 {
		cell += fmt.Sprintf("/%d", n)
	}
	if len(breaks(log)) > 0 {
		cell += " illegal"
	}
	return cell
}

const clientPage = `# Clients

Which clients work: real, unmodified ones through the proxy, against a scripted model server on this machine.
TABLE=docs/clients.md .ci/clients writes this page. A cell has what the server saw: requests, those with a fold in them, the client's own
requests for a summary, and requests without an answer, if any. An empty cell was not driven, or the client cannot do it.

Unless a cell says **fails**, the client ended without an error, no request was illegal, all had the recall tools, recalls were exact, no result
was folded before the model had seen it, and the client compacted only where that is the scenario. The server accepts the thinking
of Anthropic's newest models only in its place. Unless a scenario says otherwise it has 10 calls of 24 KB and a window of 60,000.

With and without the proxy, a resumed Gemini CLI sends every function response twice, which is illegal, and Qwen Code's shell sometimes loses
a command's output on a busy machine, so that the model asks again. Cline cuts outputs, so nothing needs folding.

`

// head is what the page says of the packages and the scenarios.
func (c *clientTable) head() string {
	var b strings.Builder
	b.WriteString("Driven on " + c.day + " were " + strings.Join(strings.Fields(clientPackages), ", ") +
		".\n\n")
	for _, sc := range clientScenarios {
		fmt.Fprintf(&b, "- **%s**: %s\n", sc.name, sc.what)
	}
	b.WriteString("\n| client | model |")
	for _, sc := range clientScenarios {
		fmt.Fprintf(&b, " %s |", sc.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(clientScenarios)) + "\n")
	return b.String()
}

// String is the page: a line for each client. The caller holds the lock.
func (c *clientTable) String() string {
	var b strings.Builder
	b.WriteString(clientPage + c.head())
	for _, client := range realClients {
		fmt.Fprintf(&b, "| %s | %s |", client.Name, cmp.Or(c.models[client.Name], client.Model))
		for _, sc := range clientScenarios {
			b.WriteString(c.cells[[2]string{sc.name, client.Name}] + "|")
		}
		b.WriteString("\n")
	}
	if c.inside != "" {
		b.WriteString("\n" + insideTitle + c.inside)
	}
	return b.String()
}

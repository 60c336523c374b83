package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat"
)

// What the rehearsal writes down for itself while it reads: a model does the same in its
// own words, and its words are what a digest keeps.
var (
	foundOutage = regexp.MustCompile(`Finding, outage: errors from (\d\d:\d\d) to (\d\d:\d\d), (\d+) minutes, all since deploy (\d+)`)
	foundDeploy = regexp.MustCompile(`Finding, deploy: (\d+) by ([\w.-]+) at (\d\d:\d\d), "([^"]+)"`)
	foundOwner  = regexp.MustCompile(`Finding, owner: checkout belongs to ([\w-]+)`)
	foundCost   = regexp.MustCompile(`Finding, cost: (\d+(?:\.\d+)?) EUR`)
	foundLost   = regexp.MustCompile(`Finding, orders: (\d+) orders were lost`)
)

// What it reads them off.
var (
	logError   = regexp.MustCompile(`(?m)^(\d\d:\d\d):\d\d ERROR .*\(since deploy (\d+)\)`)
	ownerLine  = regexp.MustCompile(`(?m)^\[checkout\]\n(?:[^\[\n]*\n)*?owner = "([\w-]+)"`)
	orderLine  = regexp.MustCompile(`(?m)^(\d\d:\d\d),(\d+),(\d+)$`)
	refundRule = regexp.MustCompile(`Each lost order is refunded with (\d+\.\d\d) EUR[^\n]*\.`)
	sumLine    = regexp.MustCompile(`(?m)^(\d+(?:\.\d+)?)\n?$`)
	runbookRef = regexp.MustCompile(`(?:read|read_file) runbook\.md[^\n]*?(?:unfold\("|\[)([0-9a-z]{8,})["\]]`)
)

// next decides what to do: the next step of the investigation, or first getting back
// something that was folded away.
func (s *scene) next() (string, []pleat.ToolCall) {
	switch s.step {
	case 0:
		return "This is a rehearsal: I am a small program in the place of a model, without a network. The tools I call really run, in a workspace made for it. I begin with a list of what is to do.",
			s.calls(1, 0, toolTodoWrite, todoList(1), toolBash, `{"command":"ls -la"}`)
	case 1:
		return "First what the README says.", s.calls(2, 0, toolReadFile, `{"path":"README.md"}`)
	case 2:
		return "It names the runbook and the services. I read both.",
			s.calls(3, 0, toolReadFile, `{"path":"runbook.md"}`, toolReadFile, `{"path":"config/services.toml"}`)
	case 3:
		return s.owner() + " Now the machine I am on, and how much there is to read.",
			s.calls(4, 0, toolBash, `{"command":"uname -sr"}`, toolBash, `{"command":"uptime"}`, toolBash, `{"command":"wc -l logs/checkout.log logs/gateway.log metrics/orders.csv"}`)
	case 4:
		return "What did customers write?", s.calls(5, 0, toolReadFile, `{"path":"support/tickets.md"}`)
	case 5:
		return "Payments could not be signed. And the night shift?", s.calls(6, 0, toolReadFile, `{"path":"support/shift.md"}`)
	case 6:
		return "They restarted nothing. The checkout's own log is next.", s.calls(7, 0, toolReadFile, `{"path":"logs/checkout.log"}`)
	case 7:
		return s.outage() + " I keep the timeline in a file, and look which deploy that was.",
			s.calls(8, 0, toolWriteFile, s.timeline(), toolReadFile, `{"path":"deploys.csv"}`)
	case 8:
		return s.deploy() + " Next, how many orders came in.", s.calls(9, 0, toolReadFile, `{"path":"metrics/orders.csv"}`, toolTodoWrite, todoList(2))
	case 9:
		return s.lost() + " The minutes go into a file too. Now what the services around it saw.",
			s.calls(10, 0, toolWriteFile, s.losses(), toolReadFile, `{"path":"logs/payments.log"}`)
	case 10:
		return "Payments waited for the checkout, so the bank is not the cause. How often did the gateway fail?",
			s.calls(11, 0, toolGrep, `{"pattern":" 502 ","path":"logs/gateway.log","files_only":true}`)
	case 11:
		return "Was it perhaps a full disk?", s.calls(12, 0, toolBash, `{"command":"df -h ."}`)
	case 12:
		return "Not that I see. What have I written so far?", s.calls(13, 0, toolGlob, `{"pattern":"*.md"}`)
	case 13:
		return "And how much does each file have?", s.calls(14, 0, toolBash, `{"command":"wc -l timeline.md losses.md"}`)
	case 14:
		return "The reading is nearly done and my window is nearly full. Before I put things together I make room.",
			s.calls(15, 0, pleat.ToolCompact, `{"focus":"cause, length and cost of the outage"}`)
	case 15:
		return "One log is left.", s.calls(16, 0, toolReadFile, `{"path":"logs/gateway.log"}`)
	case 16:
		return "It is too large for my window: I see its beginning and its end, and the rest by its handle. I have counted its errors already.",
			s.calls(17, 0, toolTodoWrite, todoList(3))
	}
	return s.conclude()
}

// todoList is the list of what is to do with so many of its items done.
func todoList(at int) string {
	items := []string{"read what the README names", "find the cause and the length of the outage", "work out the cost", "write report.md"}
	type todo struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	var list []todo
	for i, text := range items {
		status := map[bool]string{true: "completed", false: "pending"}[i < at-1]
		if i == at-1 {
			status = "in_progress"
		}
		list = append(list, todo{text, status})
	}
	out, _ := json.Marshal(map[string]any{"todos": list}) // strings cannot fail
	return string(out)
}

// owner reads the owner of the checkout off the newest results.
func (s *scene) owner() string {
	if m := find(s.last, ownerLine); m != nil {
		return "Finding, owner: checkout belongs to " + m[1] + " (config/services.toml)."
	}
	return "The services do not say who owns the checkout."
}

func (s *scene) outage() string {
	for _, text := range s.last {
		if all := logError.FindAllStringSubmatch(text, -1); len(all) > 0 {
			from, to := all[0][1], all[len(all)-1][1]
			return fmt.Sprintf("Finding, outage: errors from %s to %s, %d minutes, all since deploy %s (logs/checkout.log).", from, to, minutes(to)-minutes(from), all[0][2])
		}
	}
	return "The log has no errors."
}

// timeline is a file with the errors that the newest results show.
func (s *scene) timeline() string {
	var b strings.Builder
	b.WriteString("# Timeline\n\n")
	for _, text := range s.last {
		for line := range strings.Lines(text) {
			if logError.MatchString(line) {
				b.WriteString("- " + line)
			}
		}
	}
	return fileInput("timeline.md", b.String())
}

// losses is a file with the minutes in which orders were lost.
func (s *scene) losses() string {
	var b strings.Builder
	b.WriteString("# Lost orders\n\n")
	if o := find(s.texts, foundOutage); o != nil {
		for _, text := range s.last {
			for _, m := range orderLine.FindAllStringSubmatch(text, -1) {
				if m[1] >= o[1] && m[1] <= o[2] {
					fmt.Fprintf(&b, "- %s: %s expected, %s came\n", m[1], m[2], m[3])
				}
			}
		}
	}
	return fileInput("losses.md", b.String())
}

func fileInput(path, content string) string {
	out, _ := json.Marshal(map[string]string{"path": path, "content": content}) // strings cannot fail
	return string(out)
}

func minutes(clock string) int {
	h, m, _ := strings.Cut(clock, ":")
	hours, _ := strconv.Atoi(h)
	mins, _ := strconv.Atoi(m)
	return hours*60 + mins
}

func (s *scene) deploy() string {
	if o := find(s.texts, foundOutage); o != nil {
		row := regexp.MustCompile(`(?m)^` + o[4] + `,(\d\d:\d\d),\w+,([\w.-]+),"?([^"\n]+)"?$`)
		if m := find(s.last, row); m != nil {
			return fmt.Sprintf("Finding, deploy: %s by %s at %s, %q (deploys.csv).", o[4], m[2], m[1], m[3])
		}
	}
	return "The list of deploys does not have it."
}

func (s *scene) lost() string {
	o := find(s.texts, foundOutage)
	if o == nil {
		return "I no longer see when the outage was."
	}
	lost, rows := 0, 0
	for _, text := range s.last {
		for _, m := range orderLine.FindAllStringSubmatch(text, -1) {
			if m[1] < o[1] || m[1] > o[2] {
				continue
			}
			expected, _ := strconv.Atoi(m[2])
			came, _ := strconv.Atoi(m[3])
			lost += expected - came
			rows++
		}
	}
	return fmt.Sprintf("Finding, orders: %d orders were lost in the %d minutes from %s to %s (metrics/orders.csv).", lost, rows, o[1], o[2])
}

// conclude gets together what the answer needs, and gives it.
func (s *scene) conclude() (string, []pleat.ToolCall) {
	if text, calls := s.getBack(); calls != nil {
		return text, calls
	}
	o, d, own, lost := find(s.texts, foundOutage), find(s.texts, foundDeploy), find(s.texts, foundOwner), find(s.texts, foundLost)
	rule := find(s.recalled, refundRule)
	if o == nil || d == nil || own == nil || lost == nil || rule == nil {
		return "I could not get everything together that the answer needs: what is missing was neither in view nor found by searching.", nil
	}
	total := find(s.last, sumLine)
	switch {
	case s.step < 20 || total == nil && s.step == 20:
		return "I have the rule back word for word. What does that come to?",
			s.calls(20, s.try+1, toolCalc, fmt.Sprintf(`{"expression":"%s * %s"}`, lost[1], rule[1]))
	case s.step == 20:
		report := fmt.Sprintf("# Checkout outage\n\n- down from %s to %s (%s minutes), since deploy %s by %s: %s\n- owner: %s\n- lost orders: %s\n- cost: %s EUR\n\n> %s\n",
			o[1], o[2], o[3], d[1], d[2], d[4], own[1], lost[1], total[1], rule[0])
		return "Finding, cost: " + total[1] + " EUR. Now the report.", s.calls(21, 0, toolWriteFile, fileInput("report.md", report), toolTodoWrite, todoList(5))
	}
	cost := find(s.texts, foundCost)
	if cost == nil {
		cost = []string{"", "unknown"}
	}
	return fmt.Sprintf("The checkout was down from %s to %s, %s minutes. Deploy %s by %s at %s broke it (%s). The service belongs to %s. "+
		"%s orders were lost, which costs %s EUR. The runbook's rule, word for word: \"%s\" Everything is in report.md. I restarted nothing. "+
		"(This was a rehearsal: a program played the model; files, commands, folds and recalls were real.)",
		o[1], o[2], o[3], d[1], d[2], d[3], d[4], own[1], lost[1], cost[1], rule[0]), nil
}

// getBack asks for what the answer needs and the view does not show.
func (s *scene) getBack() (string, []pleat.ToolCall) {
	if s.step >= 20 {
		return "", nil
	}
	try := 0
	if s.step >= 18 {
		try = s.try + 1
	}
	if try > 4 {
		return "", nil
	}
	var queries []string
	for _, f := range []struct {
		query string
		re    *regexp.Regexp
	}{
		{"Finding outage errors from to minutes since deploy", foundOutage},
		{"Finding deploy by at", foundDeploy},
		{"Finding owner checkout belongs to", foundOwner},
		{"Finding orders were lost", foundLost},
	} {
		if find(s.texts, f.re) == nil {
			queries = append(queries, f.query)
		}
	}
	if len(queries) > 0 && try < 2 {
		input, _ := json.Marshal(map[string][]string{"queries": queries}) // strings cannot fail
		return "Some of what I found out is folded away. I search for it.", s.calls(18, try, pleat.ToolSearch, string(input))
	}
	if find(s.recalled, refundRule) != nil {
		return "", nil
	}
	if ref := find(s.texts, runbookRef); ref != nil {
		return "I read the runbook at the beginning; it was folded since. The rule has to be word for word, so I get that place back exactly.",
			s.calls(19, try, pleat.ToolUnfold, fmt.Sprintf(`{"handle":%q,"pattern":"refunded"}`, ref[1]))
	}
	return "I read the runbook at the beginning; it was folded since. The ledger knows its handle.",
		s.calls(19, try, pleat.ToolLedger, `{"path":"runbook.md","kind":["read"]}`)
}

// digest answers a request for a digest: what was found out, as far as what it is shown
// says so, and what is left to do.
func (s *scene) digest() string {
	shown := strings.Join(s.texts, "\n")
	var b strings.Builder
	b.WriteString("<analysis>A rehearsal's summary: the lines in which something was found out.</analysis>\n<digest>\n### Findings\n")
	for _, re := range []*regexp.Regexp{foundOwner, foundOutage, foundDeploy, foundLost} {
		if m := re.FindString(shown); m != "" {
			b.WriteString("- " + m + "\n")
		}
	}
	b.WriteString("### Pending\n- The refund rule in runbook.md is to be quoted word for word: unfold it.\n- report.md is to be written.\n</digest>")
	return b.String()
}

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// PrepareRehearsal fills a folder with what the rehearsal investigates: a made-up shop
// with notes, logs and figures. Files that are there already are replaced.
func PrepareRehearsal(dir string) error {
	for name, text := range rehearsalFiles() {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("prepare rehearsal: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("prepare rehearsal: %w", err)
		}
	}
	return nil
}

func rehearsalFiles() map[string]string {
	return map[string]string{
		"README.md":            rehearsalReadme,
		"runbook.md":           rehearsalRunbook,
		"config/services.toml": rehearsalServices(),
		"deploys.csv":          rehearsalDeploys(),
		"logs/checkout.log":    rehearsalCheckout(),
		"logs/gateway.log":     rehearsalGateway(),
		"logs/payments.log":    rehearsalPayments(),
		"support/tickets.md":   rehearsalTickets(),
		"support/shift.md":     rehearsalShift,
		"metrics/orders.csv":   rehearsalOrders(),
	}
}

const rehearsalReadme = `# Orchard

A small shop for fruit trees. Everything that is needed after an incident is here:

- runbook.md: what to do, who decides, what customers get back
- config/services.toml: the services, their ports and their owners
- deploys.csv: what went out last night
- logs/checkout.log: what the checkout said
- logs/gateway.log, logs/payments.log: what the services around it saw
- support/tickets.md, support/shift.md: what customers and colleagues wrote
- metrics/orders.csv: orders for each minute, expected and real

Times are UTC. All of it is made up for a rehearsal.
`

const rehearsalRunbook = `# Runbook

## 1. Before anything else
Look before you touch. Nobody restarts a service before the owner has been asked: a restart
destroys the state that explains the failure. Read the logs of the failing service first,
then those of the gateway, and write down the first and the last error with their times.

## 2. Who decides
The owner in config/services.toml decides about rollbacks. Outside of office hours the
duty engineer decides and tells the owner in the morning. Two people agree before data is
changed by hand. Nobody works alone on the payment ledger. If owner and duty engineer
disagree, the older rule wins: do what can be undone. A rollback needs no approval at night
if the errors began within ten minutes of the deploy.

## 3. Finding the deploy
Errors name the deploy since which they occur. Compare with deploys.csv. A deploy without a
note is treated as suspicious. Feature flags are not deploys; they are in the flag log, which
is kept for thirty days. Two deploys within five minutes are looked at together. The author
of a deploy is asked, not accused; what they say goes into the report as it was said.

## 4. Counting lost orders
Take the minutes from the first to the last error, both included. For each minute, the
expected orders less the real ones are lost. Do not estimate from revenue, and do not count
minutes in which the gateway alone failed. Orders that were placed again later count as lost
all the same: the customer had to come back. Test orders have numbers below 1000.

## 5. Talking to customers
Support writes to everybody whose order was lost, within two days, in the language of the
order. The text is in the wiki. No names of colleagues, no technical causes. Who asks for
more is called, not written to. Complaints about the apology itself go to the head of
support, who keeps them.

## 6. Refunds
Vouchers are given for delays, refunds for orders that never arrived.
Each lost order is refunded with 14.50 EUR, counted by whole orders, and Ines Okafor signs the sum.
Sums above 20,000 EUR go to the board first. Refunds are booked under cost centre 7731.

## 7. Afterwards
The report has the times, the deploy, the owner, the lost orders and the sum. It blames
nobody. It is read aloud in the Monday round and then kept for ten years.
`

func rehearsalServices() string {
	owners := []struct{ name, owner, about string }{
		{"gateway", "team-trellis", "takes every request from outside"},
		{"catalog", "team-orchard", "trees, prices, pictures"},
		{"search", "team-orchard", "finds trees by soil and frost"},
		{"basket", "team-lantern", "what is to be bought"},
		{"checkout", "team-lantern", "addresses, payment, confirmation"},
		{"payments", "team-ledger", "talks to the bank"},
		{"stock", "team-cellar", "how many trees are where"},
		{"mail", "team-lantern", "confirmations and reminders"},
	}
	var b strings.Builder
	for i, o := range owners {
		fmt.Fprintf(&b, "[%s]\nabout = %q\nport = %d\nreplicas = %d\nowner = %q\nhealth = \"/healthz\"\n\n", o.name, o.about, 7400+43*i, 2+i%3, o.owner)
	}
	return b.String()
}

func rehearsalDeploys() string {
	rows := []string{
		"catalog,m.ahlberg,new pictures of pears", "search,j.tran,index by frost zone", "mail,p.novak,shorter reminders",
		"stock,a.diallo,count returns twice a day", "gateway,s.reyes,longer idle timeout", "basket,p.novak,keep baskets for nine days",
		"checkout,r.osei,rotate the signing keys to ring 3", "catalog,m.ahlberg,mend the price of quinces", "payments,l.weiss,log the bank's trace id",
		"search,j.tran,forget misspellings after a week", "stock,a.diallo,tell the cellar earlier", "mail,p.novak,footer in two languages",
		"gateway,s.reyes,count 502 answers by route", "checkout,r.osei,take back key ring 3", "catalog,m.ahlberg,winter prices",
	}
	var b strings.Builder
	b.WriteString("deploy,time,service,author,note\n")
	for i, row := range rows {
		at := 55 + 9*i
		fmt.Fprintf(&b, "%d,%02d:%02d,%s\n", 4809+2*i, 1+at/60, at%60, row)
	}
	return b.String()
}

// The outage: the deploy is 4821, at 02:49; it is taken back at 03:52.
const (
	outageFrom = 2*60 + 51
	outageTo   = 3*60 + 27
)

func rehearsalCheckout() string {
	var b strings.Builder
	for i := range 36 {
		at := 2*60 + 31 + 2*i
		clock := fmt.Sprintf("%02d:%02d:%02d", at/60, at%60, (7*i+4)%60)
		if at >= outageFrom && at <= outageTo {
			fmt.Fprintf(&b, "%s ERROR order %d: signature rejected, key ring 3 not found (since deploy 4821)\n", clock, 90112+17*i)
			continue
		}
		fmt.Fprintf(&b, "%s INFO order %d confirmed, %d items, %d ms\n", clock, 90112+17*i, 1+i%4, 80+i*7%50)
	}
	return b.String()
}

func rehearsalGateway() string {
	routes := []string{"/catalog/pears", "/search?q=frost", "/basket", "/checkout/pay", "/catalog/quinces"}
	var b strings.Builder
	for i := range 260 {
		at := 2*60 + 31 + i*78/260
		status, route := 200, routes[i%len(routes)]
		if route == "/checkout/pay" && at >= outageFrom && at <= outageTo {
			status = 502
		}
		fmt.Fprintf(&b, "%02d:%02d GET %s %d %dms\n", at/60, at%60, route, status, 11+i*13%90)
	}
	return b.String()
}

func rehearsalOrders() string {
	var b strings.Builder
	b.WriteString("minute,expected,orders\n")
	for at := 2*60 + 41; at < 3*60+38; at++ {
		expected := 18 + at*7%11
		orders := expected
		if at >= outageFrom && at <= outageTo {
			orders = at % 3
		}
		fmt.Fprintf(&b, "%02d:%02d,%d,%d\n", at/60, at%60, expected, orders)
	}
	return b.String()
}

func rehearsalPayments() string {
	var b strings.Builder
	for i := range 52 {
		at := 2*60 + 35 + i*3/2
		if at >= outageFrom && at <= outageTo {
			fmt.Fprintf(&b, "%02d:%02d WARN no request from checkout for %d s, queue empty, bank session idle\n", at/60, at%60, 60+i*11%50)
			continue
		}
		fmt.Fprintf(&b, "%02d:%02d INFO payment %d booked, trace bank-%d\n", at/60, at%60, 55310+i*3, 88120+i*37)
	}
	return b.String()
}

func rehearsalTickets() string {
	words := []string{
		"The page said that my payment could not be signed. I tried three cards.", "Paid twice? The confirmation never came.",
		"I wanted two quinces and a pear for my mother, nothing worked.", "Is the shop closed? The basket is full but the button does nothing.",
		"An error with the word ring in it. I am not buying jewellery.", "At night only a white page after the address.",
		"Please send the trees anyway, I will pay by invoice.",
	}
	var b strings.Builder
	b.WriteString("# Tickets of the night\n\n")
	for i := range 24 {
		at := outageFrom + 2*i
		fmt.Fprintf(&b, "## T-%d, %02d:%02d, customer %d\n%s\n\n", 3301+i, at/60, at%60, 61007+i*113, words[i%len(words)])
	}
	return b.String()
}

const rehearsalShift = `# Notes of the night shift

02:30 Quiet. The search team deploys, as announced. Tea.
02:55 First ticket about payments. Looked at the bank's status page: green.
03:02 Five tickets. The gateway shows 502 for /checkout/pay and for nothing else, so it is
not the network. The checkout answers on /healthz, which proves little: it does not sign.
03:05 Did not restart the checkout, although it itched. The runbook is right: the first
error line named the deploy.
03:11 Called the author of the deploy, who was asleep and very kind about it. The new key
ring is on the signing hosts in the east, not on those in the west. The checkout asks the
west first since the rotation.
03:19 The author prepares taking it back. Two pairs of eyes, as it should be.
03:28 Orders come in again: the west hosts got the ring by hand before the deploy was taken
back. We leave both as they are until the morning.
03:52 The deploy is taken back all the same, to be sure. Nothing changes.
04:10 Wrote down the times. Somebody else counts the orders, I cannot count any more.
04:18 Handed the list of tickets to support. They ask whether the apology may name the
cause. It may not, see the runbook. They ask what the refund is. I do not know the sum by
heart and did not guess; it is in the runbook too.
04:24 For the next shift: the west signing hosts are called sign-w1 to sign-w4, their key
directory is mounted read-only since March, and copying by hand needs the lock to be taken
first. Without the lock the ring is half there, which is worse than not at all: two of the
four hosts answered and two did not, so that every second payment failed between 03:20 and
03:26 while we thought it was over.
04:27 Also for the next shift: the alarm for the checkout looks at /healthz and stayed
silent all the time. It should look at signed orders for each minute instead. I wrote that
down in January as well. The page for the duty engineer went to the old telephone number,
which is now a bakery. They were awake and friendly.
04:30 The fruit flies are back in the kitchen. Not an incident.
`

package toolcall

import (
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/internal/shell"
	"github.com/pleat-dev/pleat/internal/text"
)

// remotes has the programs that always talk to other machines.
var remotes = text.WordSet(`curl wget http https invoke-webrequest invoke-restmethod gh glab ssh scp rsync sftp ftp
	nc telnet aws gcloud az heroku vercel fly flyctl netlify terraform ping dig nslookup host whois traceroute helm
	kubectl pip pip3 gem brew apt apt-get dnf yum apk pacman conda`)

// lookups has the commands with which programs only look something up.
var lookups = byName(map[string]string{
	"view list status checks diff search watch browse ls":               "gh glab",
	"ls list view info why outdated root bin config help search":        "npm pnpm yarn bun",
	"list show freeze info search check":                                "pip pip3 uv poetry gem bundle brew apt conda",
	"list doc env version tree metadata search":                         "go cargo",
	"ps images logs inspect version info get describe top stats status": "docker podman kubectl helm",
})

// downloads has the commands with which programs fetch something from other machines.
var downloads = text.WordSet("install i add ci update up upgrade publish login get fetch pull push")

// netProgram reads programs that talk to other machines, or look things up.
func netProgram(c *shell.Command, name string, args []string) (shellEffect, bool) {
	words, looks := lookups[name]
	if !looks && !remotes[name] {
		return shellEffect{}, false
	}
	ops := operands(args, "CRHqtfF", "dir filter prefix repo json jq template")
	ops = ops[:min(2, len(ops))]
	e := shellEffect{kind: CallRun}
	if remotes[name] || len(ops) > 0 && downloads[ops[0]] && !(name == "go" && ops[0] == "install") {
		e.kind = CallNet
	}
	known := strings.Fields(words)
	switch {
	case name == "curl":
		e.harmless = !slices.ContainsFunc(args, sends)
	case slices.ContainsFunc(ops, func(op string) bool { return slices.Contains(known, op) }):
		e.harmless = true
		if e.kind == CallRun {
			e.kind = CallRead
		}
	}
	if !e.harmless {
		e.paths = outputOptions(c, args)
	}
	return e, true
}

// sends reports whether an option of curl sends or stores something.
func sends(arg string) bool {
	long := text.HasAnyPrefix(arg, "--data", "--json", "--form", "--upload", "--output", "--remote-name", "--request")
	return long || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.ContainsAny(arg, "XdFToO")
}

package main

import (
	"context"
	"fmt"
	"strings"
)

// manCommand is a function because it needs the table that it is part of.
func manCommand() command {
	return command{
		name:    "man",
		takes:   noArguments,
		summary: "print the manual page",
		help:    "Prints the manual page in roff, made from the same table as the help.",
		examples: `# read it
pleat man | man -l -
# install it
pleat man > /usr/local/share/man/man1/pleat.1`,
		run: func(_ context.Context, p *program, _ []string) error {
			_, err := fmt.Fprint(p.stdout, manPage(commands()))
			return err
		},
	}
}

// manPage writes the page. It has no date, so that it is the same for the same program.
func manPage(list []command) string {
	var b strings.Builder
	b.WriteString(manHead)
	for _, c := range list {
		fmt.Fprintf(&b, ".TP\n\\fBpleat %s\\fR\n%s\n", roff(c.name), roffLine(c.summary))
	}
	for _, c := range list {
		fmt.Fprintf(&b, ".SH %s\n.nf\n\\fBpleat %s\\fR", strings.ToUpper(roff(c.name)), roff(c.name))
		if c.args != "" {
			fmt.Fprintf(&b, " \\fI%s\\fR", roff(c.args))
		}
		b.WriteString("\n.fi\n")
		manText(&b, c.help)
		c.eachFlag(func(name, value, usage, def string) {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR", roff(dashed(name)))
			if value != "" {
				fmt.Fprintf(&b, " \\fI%s\\fR", roff(value))
			}
			if def != "" {
				usage += " (default " + def + ")"
			}
			fmt.Fprintf(&b, "\n%s\n", roffLine(usage))
		})
		if c.examples != "" {
			fmt.Fprintf(&b, ".PP\nExamples:\n.PP\n.nf\n.RS 4\n%s\n.RE\n.fi\n", roffLines(strings.Split(strings.Trim(c.examples, "\n"), "\n")))
		}
	}
	b.WriteString(manTail)
	return b.String()
}

const manHead = `.TH PLEAT 1 "" "pleat" "User Commands"
.SH NAME
pleat \- keeps an LLM agent inside its context window
.SH SYNOPSIS
\fBpleat\fR \fICOMMAND\fR [\fIARGUMENTS\fR]
.SH DESCRIPTION
pleat decides what of a long session a model is still shown, and never loses a byte of what
it folds away. This program reads the sessions that agents keep on disk, folds them to a
budget, finds anything in them and gives it back exactly. It needs no model, server or key.
.PP
Flags may stand before, between and after the arguments; \-\- ends them.
.SH COMMANDS
`

const manTail = `.SH ENVIRONMENT
.TP
\fBPLEAT_STORE\fR
the store's file, or the URL postgres://... of its database, where \fB\-\-store\fR does
not name one
.TP
\fBPLEAT_\fIFLAG\fR
any flag of any command, where the command line does not give it: \-\-max\-turns is
PLEAT_MAX_TURNS
.TP
\fBPLEAT_CONFIG\fR
the settings file to use instead of those that are looked for
.TP
\fBPGPASSWORD\fR
the password of a database, where the URL has none
.TP
\fBXDG_DATA_HOME\fR
the data folder, else ~/.local/share; on macOS it is ~/Library/Application Support, on
Windows %LocalAppData%
.TP
\fBNO_COLOR\fR
if set, output has no colours
.TP
\fBCOLUMNS\fR
how wide output may be, where it is no terminal
.SH FILES
.TP
~/.local/share/pleat/pleat.db
the store; only its owner can read it
.TP
pleat.toml
settings, in this folder or the nearest above it, and in ~/.config/pleat; see
\fBpleat help config\fR
.SH EXIT STATUS
0: done. 1: it could not be done, or what was looked for is not there, or something is
damaged. 2: the command line was not understood.
`

// roff escapes a text for a manual page.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// roffLine escapes a line of text. One that begins with a dot would be a request.
func roffLine(s string) string {
	if s = roff(s); strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}

func roffLines(lines []string) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = roffLine(l)
	}
	return strings.Join(out, "\n")
}

// manText writes the paragraphs of a help text. A paragraph with columns or indented
// lines keeps its lines.
func manText(b *strings.Builder, text string) {
	for par := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(par, "\n")
		if strings.HasPrefix(par, " ") || strings.Contains(par, "\n ") || strings.Contains(par, "   ") {
			fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roffLines(lines))
			continue
		}
		fmt.Fprintf(b, ".PP\n%s\n", roffLines(lines))
	}
}

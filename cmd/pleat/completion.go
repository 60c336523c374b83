package main

import (
	"context"
	"fmt"
	"strings"
)

// completionCommand is a function because it needs the table that it is part of.
func completionCommand() command {
	return command{
		name:    "completion",
		args:    "bash|zsh|fish",
		summary: "print a completion script for your shell",
		help: `Prints a script that completes commands, flags, files and the names of stored sessions.

bash: put this into ~/.bashrc:      source <(pleat completion bash)
zsh:  put this into ~/.zshrc:       source <(pleat completion zsh)
fish: run once:                     pleat completion fish > ~/.config/fish/completions/pleat.fish`,
		run: func(_ context.Context, p *program, args []string) error {
			scripts := map[string]func([]command) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
			if len(args) != 1 || scripts[args[0]] == nil {
				return usageError{"completion wants the name of a shell: bash, zsh or fish"}
			}
			_, err := fmt.Fprint(p.stdout, scripts[args[0]](commands()))
			return err
		},
	}
}

// What a word on the command line is completed with.
const (
	completeNothing  = "nothing"
	completeFiles    = "files"
	completeSessions = "sessions"
	completeCommands = "commands"
)

// completes is what to complete the placeholder of an argument or of a flag's value with.
func completes(placeholder string) string {
	switch {
	case strings.Contains(placeholder, "FILE"), strings.Contains(placeholder, "SRC"):
		return completeFiles
	case strings.Contains(placeholder, "SESSION"):
		return completeSessions
	case strings.Contains(placeholder, "COMMAND"):
		return completeCommands
	}
	return completeNothing
}

// choices are the words of a first argument such as bash|zsh|fish.
func choices(args string) []string {
	first, _, _ := strings.Cut(args, " ")
	if !strings.Contains(first, "|") || strings.Contains(first, "[") {
		return nil
	}
	return strings.Split(first, "|")
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func bashCompletion(list []command) string {
	var names, cases []string
	for _, c := range list {
		names = append(names, c.name)
		var flags []string
		values := map[string][]string{}
		c.eachFlag(func(name, value, _, _ string) {
			flags = append(flags, dashed(name))
			if value != "" {
				kind := completes(value)
				values[kind] = append(values[kind], dashed(name))
			}
		})
		flags = append(flags, "--help")
		var b strings.Builder
		fmt.Fprintf(&b, "    %s)\n      flags=%q kind=%s words=%q\n      case $prev in\n", c.name,
			strings.Join(flags, " "), completes(c.args), strings.Join(choices(c.args), " "))
		for _, kind := range []string{completeFiles, completeSessions, completeCommands, completeNothing} {
			if len(values[kind]) > 0 {
				fmt.Fprintf(&b, "        %s) flags= words= kind=%s;;\n", strings.Join(values[kind], "|"), kind)
			}
		}
		b.WriteString("      esac;;\n")
		cases = append(cases, b.String())
	}
	names = append(names, "help")
	return fmt.Sprintf(bashScript, strings.Join(names, " "), strings.Join(cases, ""))
}

// Session names have colons, at which bash splits words, so the script splits the line itself.
const bashScript = `# bash completion for pleat, made by "pleat completion bash"
_pleat() {
  local line=${COMP_LINE:0:COMP_POINT} flags= kind=nothing words= cur before prev i
  local commands=%q
  cur=${line##*[[:blank:]]}
  before=${line%%"$cur"}
  before=${before%%"${before##*[![:blank:]]}"}
  prev=${before##*[[:blank:]]}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 || ${COMP_WORDS[1]} == help ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
    return
  fi
  case ${COMP_WORDS[1]} in
%s  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  for i in $words; do # once the first argument is one of them, others follow
    if [[ " $before " == *" $i "* ]]; then words=; break; fi
  done
  if [[ -n $words ]]; then kind=nothing; fi
  local IFS=$'\n'
  case $kind in
    files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return;;
    commands) words=${commands// /$'\n'};;
    sessions) words=$(pleat stored --names 2>/dev/null);;
    *) words=${words// /$'\n'};;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=${COMPREPLY[i]#"${cur%%"${cur##*:}"}"}; done
  fi
}
complete -F _pleat pleat
`

// zshText escapes a text for a specification in single quotes.
func zshText(s string) string {
	return strings.NewReplacer(`'`, `'\''`, `\`, `\\`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace(s)
}

func zshCompletion(list []command) string {
	var names, cases strings.Builder
	action := map[string]string{completeFiles: "_files", completeSessions: "_pleat_sessions", completeCommands: "_pleat_commands", completeNothing: " "}
	for _, c := range list {
		fmt.Fprintf(&names, "    '%s:%s'\n", c.name, zshText(c.summary))
		fmt.Fprintf(&cases, "    %s)\n      _arguments \\\n", c.name)
		c.eachFlag(func(name, value, usage, _ string) {
			fmt.Fprintf(&cases, "        '%s[%s]", dashed(name), zshText(usage))
			if value != "" {
				fmt.Fprintf(&cases, ":%s:%s", zshText(value), action[completes(value)])
			}
			cases.WriteString("' \\\n")
		})
		if words := choices(c.args); words != nil {
			fmt.Fprintf(&cases, "        ':word:(%s)' \\\n", strings.Join(words, " "))
		}
		fmt.Fprintf(&cases, "        '*:argument:%s';;\n", action[completes(c.args)])
	}
	names.WriteString("    'help:show the help of a command'\n")
	return fmt.Sprintf(zshScript, names.String(), cases.String())
}

const zshScript = `#compdef pleat
# zsh completion for pleat, made by "pleat completion zsh"
_pleat_sessions() {
  local -a sessions
  sessions=(${(f)"$(pleat stored --names 2>/dev/null)"})
  compadd -a sessions
}
_pleat_commands() {
  local -a commands
  commands=(
%s  )
  _describe command commands
}
_pleat() {
  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
    _pleat_commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
%s  esac
}
if [ "$funcstack[1]" = _pleat ]; then
  _pleat "$@"
else
  compdef _pleat pleat
fi
`

// fishText quotes a text with single quotes.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

const fishHead = `# fish completion for pleat, made by "pleat completion fish"
function __pleat_using
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test $words[2] = $argv[1]
end
complete -c pleat -f
`

func fishCompletion(list []command) string {
	const sessions = `'(pleat stored --names 2>/dev/null)'`
	var b strings.Builder
	b.WriteString(fishHead)
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	for _, c := range append(list, command{name: "help", args: "COMMAND", summary: "show the help of a command"}) {
		fmt.Fprintf(&b, "complete -c pleat -n __fish_use_subcommand -a %s -d %s\n", c.name, fishText(c.summary))
		on := fmt.Sprintf("complete -c pleat -n '__pleat_using %s'", c.name)
		if words := choices(c.args); words != nil {
			list := strings.Join(words, " ")
			fmt.Fprintf(&b, "complete -c pleat -n '__pleat_using %s; and not __fish_seen_subcommand_from %s' -a '%s'\n", c.name, list, list)
			on = fmt.Sprintf("complete -c pleat -n '__pleat_using %s; and __fish_seen_subcommand_from %s'", c.name, list)
		}
		switch completes(c.args) {
		case completeFiles:
			fmt.Fprintf(&b, "%s -F\n", on)
		case completeSessions:
			fmt.Fprintf(&b, "%s -a %s\n", on, sessions)
		case completeCommands:
			fmt.Fprintf(&b, "%s -a '%s'\n", on, strings.Join(names, " "))
		}
		on = fmt.Sprintf("complete -c pleat -n '__pleat_using %s'", c.name)
		if c.run == nil && c.flags == nil {
			continue
		}
		c.eachFlag(func(name, value, usage, _ string) {
			kind := "-l"
			if len(name) == 1 {
				kind = "-s"
			}
			fmt.Fprintf(&b, "%s %s %s -d %s", on, kind, name, fishText(usage))
			switch {
			case value == "":
			case completes(value) == completeFiles:
				b.WriteString(" -r -F")
			case completes(value) == completeSessions:
				b.WriteString(" -x -a " + sessions)
			default:
				b.WriteString(" -x")
			}
			b.WriteString("\n")
		})
	}
	return b.String()
}

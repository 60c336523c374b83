package client

import (
	"slices"
	"strings"
	"sync"

	"github.com/pleat-dev/pleat/internal/text"
)

// Class is what a tool is for.
type Class uint8

// The classes. A tool that is not in the table is Unknown: it may do anything.
const (
	Unknown Class = iota
	Shell         // runs a command
	Code          // runs source code that is no shell script
	Input         // writes to a program that runs in the background
	Stop          // ends a program that runs in the background
	Poll          // asks how something in the background stands
	Read          // shows files
	List          // lists a folder, or symbols of a file
	Search        // finds files, or lines in them
	Write         // writes whole files or makes folders
	Edit          // changes files
	Delete        // removes files
	Move          // gives a file another name
	Editor        // its argument "command" says which of the above it does
	Patch         // applies a patch
	Fetch         // looks something up on the net
	Browse        // talks to other machines and may change something there
	Agent         // runs another agent and answers with its report
	Todo          // writes the task list or the plan
	Ask           // asks the user
	Skill         // loads instructions
	Recall        // gives back what pleat folded
	Note          // tells pleat what to keep, or to compact
	Memory        // keeps something beyond the session
	Look          // shows something else and changes nothing
	Aside         // concerns only the agent itself and changes nothing
)

var classNames = [...]string{
	"unknown", "shell", "code", "input", "stop", "poll", "read", "list", "search", "write", "edit", "delete", "move",
	"editor", "patch", "fetch", "browse", "agent", "todo", "ask", "skill", "recall", "note", "memory", "look", "aside",
}

// String returns the class's name, as [Match] reads it.
func (c Class) String() string { return classNames[c] }

// maxName is the length in bytes beyond which a name is cut: no tool's is that long.
const maxName = 64

// Plain returns the form in which names are compared: TodoWrite, todo_write and
// functions.todo-write are one tool.
func Plain(name string) string {
	name = strings.TrimPrefix(name, "functions.")
	return withoutMarks.Replace(text.PlainName(name[:min(len(name), maxName)]))
}

var withoutMarks = strings.NewReplacer(".", "", " ", "")

// Of returns the class of the tool with that name. Of an MCP server's tools (mcp__server__tool) only
// those that read files are known: other names say too little of what a server does.
func Of(name string) Class {
	if strings.HasPrefix(name, "mcp__") && classes()[Plain(name[strings.LastIndex(name, "__")+2:])] == Read {
		return Read
	}
	return classes()[Plain(name)]
}

// Asks reports whether a name is exactly that of a tool by which an agent asks its user. A server can
// provide one with nearly that name.
func Asks(name string) bool {
	return slices.Contains(strings.Fields(All().Tools[Ask]), name)
}

// Known reports whether an agent has a tool of that name.
func Known(name string) bool {
	_, ok := classes()[Plain(name)]
	return ok
}

// KeepsDir reports whether the shell of that name goes on with the next call, in the
// folder where the last call left it.
func KeepsDir(name string) bool {
	return slices.Contains([]string{"bash", "executebash"}, Plain(name))
}

// Match reports whether a pattern means the tool: it is the tool's name in any spelling, or
// "@" and the name of its class, such as "@shell".
func Match(pattern, name string) bool {
	if class, ok := strings.CutPrefix(pattern, "@"); ok {
		return class == Of(name).String()
	}
	return Plain(pattern) == Plain(name)
}

// MatchAny reports whether one of the patterns means the tool.
func MatchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
}

// Classes returns the patterns that mean whole classes of tools.
func Classes() []string {
	patterns := make([]string, 0, len(classNames))
	for _, name := range classNames {
		patterns = append(patterns, "@"+name)
	}
	return patterns
}

// IsPattern reports whether [Match] can understand a pattern: a class must be a known one.
func IsPattern(pattern string) bool {
	return !strings.HasPrefix(pattern, "@") || slices.Contains(Classes(), pattern)
}

// classes is what all profiles say of tools, by plain name.
var classes = sync.OnceValue(func() map[string]Class {
	byName := make(map[string]Class)
	for class, names := range All().Tools {
		for name := range strings.FieldsSeq(names) {
			byName[Plain(name)] = class
		}
	}
	return byName
})

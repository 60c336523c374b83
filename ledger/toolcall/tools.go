package toolcall

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/pleat-dev/pleat/internal/client"
	"github.com/pleat-dev/pleat/internal/text"
	"github.com/pleat-dev/pleat/transcript"
)

// effect is what a call of a class of tools does, as far as its name tells.
type effect struct {
	kind     CallKind
	harmless bool
}

// effects has the classes of tools; those that are missing may do anything.
var effects = map[client.Class]effect{
	client.Shell:  {CallRun, false},
	client.Code:   {CallRun, false},
	client.Input:  {CallRun, false},
	client.Stop:   {CallRun, false},
	client.Poll:   {CallRead, true},
	client.Read:   {CallRead, true},
	client.List:   {CallRead, true},
	client.Search: {CallRead, true},
	client.Write:  {CallCreate, false},
	client.Edit:   {CallEdit, false},
	client.Delete: {CallDelete, false},
	client.Move:   {CallEdit, false},
	client.Patch:  {CallEdit, false},
	client.Fetch:  {CallNet, true},
	client.Browse: {CallNet, false},
	client.Todo:   {CallOther, true},
	client.Ask:    {CallOther, true},
	client.Skill:  {CallOther, true},
	client.Recall: {CallRead, true},
	client.Note:   {CallOther, true},
	client.Look:   {CallRead, true},
	client.Aside:  {CallOther, true},
}

// editorVerbs are what editors are told by their argument "command".
var editorVerbs = map[string]client.Class{
	"view": client.Read, "create": client.Write, "delete": client.Delete, "rename": client.Move,
}

// classOf is what a tool is for; of an editor what the call tells it to do, which is to edit if it is nothing else.
func classOf(tool string, args []arg) client.Class {
	class := client.Of(tool)
	if class == client.Editor {
		class = cmp.Or(editorVerbs[argText(args, "command")], client.Edit)
	}
	return class
}

// The names that the common agents give to the same arguments.
var (
	pathArgs = []string{
		"file_path", "filePath", "path", "absolute_path", "abs_path", "file", "filename", "notebook_path",
		"target_file", "relative_path", "uri", "dir_path", "directory", "dirPath", "target_directory", "DirectoryPath",
		"AbsolutePath", "TargetFile", "dir",
	}
	listArgs    = []string{"paths", "files", "file_paths", "filePaths"}
	commandArgs = []string{"command", "cmd", "script", "CommandLine", "commands", "code"}
	dirArgs     = []string{"workdir", "cwd", "working_directory", "directory", "dir_path", "Cwd", "dir"}
	// asideArgs do not change what a call asks for.
	asideArgs = []string{
		"description", "explanation", "instruction", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens",
		"initial_wait", "justification", "is_background", "login", "requires_approval", "task_progress",
	}
)

// DescribeCall derives the facts of a call from the call alone. It knows the tools of
// the common agents; of any other tool it keeps the small arguments and the paths, and
// takes it for one that changes something. It is a pure function, and cheap: of large
// arguments only the members that matter are decoded.
func DescribeCall(c transcript.ToolCall) CallFacts {
	input := c.Input.String()
	args := callArgs([]byte(input))
	f := CallFacts{Tool: text.OneLine(c.Name, 80)}
	class := classOf(c.Name, args)
	f.Kind, f.Harmless = effects[class].kind, effects[class].harmless
	f.Task = polled(class, args)
	switch class {
	case client.Shell:
		describeShellCall(&f, args, input)
	case client.Patch:
		describePatchCall(&f, args, input)
	case client.Read, client.List, client.Write, client.Edit, client.Delete:
		describeFileCall(&f, args)
	case client.Search:
		describeSearchCall(&f, args)
	case client.Move:
		describeMoveCall(&f, args)
	case client.Fetch, client.Browse:
		f.Args = text.OneLine(hideSecrets(argText(args, "url", "query", "prompt", "q", "uri")), MaxArgs)
	default:
		describePlainCall(&f, args, input, class != client.Unknown)
	}
	if f.Args == "" {
		f.Args = hideSecrets(plainArgs(args))
	}
	if f.Signature == "" {
		f.Signature = callSignature(c.Name, args, input)
	}
	return f.own()
}

// callSignature hashes a call without regard to the order of its members.
func callSignature(name string, args []arg, input string) string {
	h := fnv.New64a()
	if len(args) == 0 {
		h.Write([]byte(input))
	}
	sum := h.Sum64()
	for _, a := range args {
		if slices.Contains(asideArgs, a.name) {
			continue
		}
		h.Reset()
		h.Write([]byte(a.name))
		h.Write([]byte{0})
		h.Write(a.raw)
		sum += h.Sum64()
	}
	h.Reset()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(strconv.AppendUint(nil, sum, 16))
	return hex.EncodeToString(h.Sum(nil))
}

// callPaths returns what a call does to the paths that members with the usual names hold.
func callPaths(args []arg, like PathChange) (out []PathChange) {
	for _, p := range append([]string{argText(args, pathArgs...)}, argTexts(args, listArgs...)...) {
		if like.Path = p; p != "" && !slices.Contains(out, like) {
			out = append(out, like)
		}
	}
	return out
}

func describeFileCall(f *CallFacts, args []arg) {
	like := PathChange{Change: f.Kind}
	if f.Kind == CallRead {
		like.First, like.Last = readRange(args)
		like.Some = client.Of(f.Tool) == client.List
	}
	f.Paths = callPaths(args, like)
	f.Args = pathGist(f.Paths)
}

// readRange reads which lines are asked for: offset and limit, start and end, or a pair.
func readRange(args []arg) (first, last int) {
	if a, ok := argument(args, "view_range", "range", "line_range"); ok {
		if pair := a.elements(); len(pair) == 2 {
			first, _ = strconv.Atoi(string(pair[0]))
			last, _ = strconv.Atoi(string(pair[1]))
			return max(first, 0), max(last, 0)
		}
	}
	first = argInt(args, "offset", "start_line", "startLine", "start_line_one_indexed", "StartLine", "line_start")
	last = argInt(args, "end_line", "endLine", "end_line_one_indexed_inclusive", "EndLine", "line_end")
	if limit := argInt(args, "limit", "max_lines"); last == 0 && limit > 0 {
		last = max(first, 1) + limit - 1
	}
	return max(first, 0), max(last, 0)
}

// pathGist shows paths with their line ranges.
func pathGist(paths []PathChange) string {
	parts := make([]string, 0, len(paths))
	for _, p := range paths {
		s := p.Path
		if p.First > 0 || p.Last > 0 {
			s += ":" + strconv.Itoa(max(p.First, 1)) + "-"
			if p.Last > 0 {
				s += strconv.Itoa(p.Last)
			}
		}
		parts = append(parts, s)
	}
	return text.OneLine(strings.Join(parts, ", "), MaxArgs)
}

func describeSearchCall(f *CallFacts, args []arg) {
	pattern := argText(args, "pattern", "query", "regex", "glob_pattern", "q", "text")
	f.Args = text.OneLine(pattern, MaxArgs/2)
	f.Paths = callPaths(args, PathChange{Change: CallRead, Some: true})
	if g := argText(args, "glob", "include", "file_pattern", "includePattern"); g != "" {
		f.Args += " in " + text.OneLine(g, maxArg)
	}
	if len(f.Paths) > 0 {
		f.Args += " in " + pathGist(f.Paths)
	}
	f.Args = text.OneLine(f.Args, MaxArgs)
}

func describeShellCall(f *CallFacts, args []arg, input string) {
	script, literal := scriptOf(f.Tool, args, input)
	f.Dir = argText(args, dirArgs...)
	if script == "" {
		f.Args = plainArgs(args)
		return
	}
	describeShell(f, script, literal)
	f.Args = text.OneLine(hideSecrets(strings.TrimSpace(script)), MaxArgs)
	f.Signature = callSignature("shell", []arg{{"dir", []byte(f.Dir)}, {"command", []byte(script)}}, "")
}

// argvScript turns an argument vector into a script: that of bash -lc "script", or the
// words themselves, quoted where they must be.
func argvScript(argv []string) (script string, literal bool) {
	base := argv[0][strings.LastIndexAny(argv[0], `/\`)+1:]
	switch strings.ToLower(strings.TrimSuffix(base, ".exe")) {
	case "bash", "sh", "zsh", "dash":
		if len(argv) == 3 && strings.HasPrefix(argv[1], "-") && strings.HasSuffix(argv[1], "c") {
			return argv[2], false
		}
	case "powershell", "pwsh", "cmd":
		if n := len(argv); n > 2 {
			return argv[n-1], true
		}
	}
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = w; w == "" || strings.ContainsAny(w, " \t\n;&|<>()$`\"'\\#*?") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " "), false
}

func describePatchCall(f *CallFacts, args []arg, input string) {
	f.Paths = patchPaths(patchOf(args, input))
	if p := argText(args, pathArgs...); p != "" && len(f.Paths) == 0 {
		f.Paths = []PathChange{{Path: p, Change: CallEdit}}
	}
	if k := gravest(f.Paths); k != CallOther {
		f.Kind = k
	}
	f.Args = patchGist(f.Paths)
}

func describeMoveCall(f *CallFacts, args []arg) {
	from := argText(args, "source", "old_path", "from", "oldPath", "source_path", "path", "src")
	to := argText(args, "destination", "new_path", "to", "newPath", "destination_path", "target", "dst")
	if from == "" || to == "" {
		return
	}
	f.Paths = []PathChange{{Path: from, Change: CallDelete}, {Path: to, Change: CallCreate, Source: from}}
	f.Args = text.OneLine(from+" -> "+to, MaxArgs)
}

// describePlainCall keeps the small arguments; of an unknown tool also the paths, since
// it may do anything to them.
func describePlainCall(f *CallFacts, args []arg, input string, known bool) {
	if len(args) == 0 {
		if !strings.HasPrefix(strings.TrimSpace(input), "{") {
			f.Args = text.OneLine(hideSecrets(input), MaxArgs)
		}
		return
	}
	f.Args = hideSecrets(plainArgs(args, asideArgs[1:]...))
	if known {
		return
	}
	f.Paths = slices.DeleteFunc(callPaths(args, PathChange{}), func(p PathChange) bool {
		return strings.Contains(p.Path, "\n") || len(p.Path) >= 1024
	})
}

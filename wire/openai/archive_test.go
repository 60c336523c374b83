package openai

import "strings"

// archive is a text archive (txtar): a comment, then files behind lines "-- name --".
type archive struct {
	comment string
	files   []archived
}

type archived struct{ name, data string }

func parseArchive(text string) archive {
	var a archive
	at := &a.comment
	for line := range strings.Lines(text) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, end := strings.CutSuffix(name, " --\n"); ok && end {
			a.files = append(a.files, archived{name: name})
			at = &a.files[len(a.files)-1].data
			continue
		}
		*at += line
	}
	return a
}

func (a archive) String() string {
	var sb strings.Builder
	sb.WriteString(a.comment)
	for _, f := range a.files {
		sb.WriteString("-- " + f.name + " --\n" + f.data)
		if f.data != "" && !strings.HasSuffix(f.data, "\n") {
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

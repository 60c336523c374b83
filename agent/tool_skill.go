package agent

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pleat-dev/pleat/model"
)

// maxSkill bounds what is read of a skill: it is meant to be instructions.
const maxSkill = 256 << 10

func loadSkill(dir string) Tool {
	type args struct{ Name string }
	return NewTool(model.Tool{
		Name: "load_skill",
		Description: "Loads a skill: instructions for a kind of work, written for this workspace. " +
			"Without a name it lists the skills. Load the one that fits before you begin such work.",
		Schema: `{"type":"object","properties":{"name":{"type":"string"}}}`,
	}, EffectNone, func(in args) string { return in.Name }, func(_ context.Context, _ Call, in args) (string, error) {
		if dir == "" {
			return "there are no skills here\n", nil
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", plainError("the folder of skills", err)
		}
		defer root.Close()
		if in.Name == "" {
			return listSkills(root)
		}
		if strings.ContainsAny(in.Name, `/\`) || in.Name == ".." || in.Name == "." {
			return "", fmt.Errorf("%q is not the name of a skill", in.Name)
		}
		text, err := readSkill(root, in.Name)
		if err != nil {
			list, _ := listSkills(root)
			return list, fmt.Errorf("there is no skill %q", in.Name)
		}
		return fmt.Sprintf("[skill %s]\n%s", in.Name, text), nil
	})
}

func readSkill(root *os.Root, name string) (string, error) {
	data, err := readRegular(root, name+"/SKILL.md", maxFile)
	if err != nil {
		return "", err
	}
	return string(data[:min(len(data), maxSkill)]), nil
}

func listSkills(root *os.Root) (string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return "", plainError("the folder of skills", err)
	}
	var b strings.Builder
	for _, e := range entries {
		if text, err := readSkill(root, e.Name()); err == nil {
			fmt.Fprintf(&b, "%s: %s\n", e.Name(), skillDescription(text))
		}
	}
	if b.Len() == 0 {
		return "there are no skills here\n", nil
	}
	return b.String(), nil
}

// skillDescription is the description in the front matter, else the first line of text.
func skillDescription(text string) string {
	front, body := "", text
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if f, b, ok := strings.Cut(rest, "\n---"); ok {
			front, body = f, b
		}
	}
	for line := range strings.Lines(front) {
		if d, ok := strings.CutPrefix(line, "description:"); ok {
			return strings.Trim(strings.TrimSpace(d), `"'`)
		}
	}
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#-")); line != "" {
			return line
		}
	}
	return "(no description)"
}

package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
)

// Question is something that a continuing agent could want to know, with the answer.
type Question struct {
	Session string `json:"session"`
	Text    string `json:"question"`
	Gold    string `json:"answer"`
}

// questionsJSON has questions about the public sessions of [PublicCorpus], written by a reader who saw all
// that came after the cut.
//
//go:embed questions.json
var questionsJSON []byte

// questionBook is the file of questions. A session that has some there, or in the bench itself, is asked
// those, whoever wrote them, so that all models and all later runs answer the same.
type questionBook struct {
	file      string
	list, own []Question // of the file; of the bench
}

func openQuestions(dir string) (*questionBook, error) {
	b := &questionBook{file: filepath.Join(dir, "questions.json")}
	if err := json.Unmarshal(questionsJSON, &b.own); err != nil {
		panic("bench: questions.json: " + err.Error()) // it is part of the program
	}
	data, err := os.ReadFile(b.file)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	if err := json.Unmarshal(data, &b.list); err != nil {
		return nil, fmt.Errorf(
			"read questions in %s: %w [hint: mend the file, or move it away to have new ones written]", b.file, err,
		)
	}
	for i, q := range b.list {
		if q.Text == "" || q.Gold == "" {
			return nil, fmt.Errorf("read questions in %s: number %d has no question or no answer", b.file, i+1)
		}
	}
	return b, nil
}

// about returns the questions about a session.
func (b *questionBook) about(session string) (list []Question) {
	for _, own := range [][]Question{b.own, b.list} {
		about := slices.DeleteFunc(slices.Clone(own), func(q Question) bool { return q.Session != session })
		if len(about) > 0 {
			list = about
		}
	}
	return list
}

// add puts questions into the file.
func (b *questionBook) add(list []Question) error {
	b.list = append(b.list, list...)
	data, err := json.MarshalIndent(b.list, "", "  ")
	if err != nil {
		return fmt.Errorf("encode questions: %w", err)
	}
	if err := term.WriteIn(b.file, append(data, '\n')); err != nil {
		return fmt.Errorf("keep questions: %w", err)
	}
	return nil
}

const askForQuestions = `Below is the beginning of a working session of a coding agent. Write %d questions
that the agent could need to answer when it goes on with the work: facts found, files made or changed, decisions
with their reasons, rules that the user gave, the state of the work. Each must have one short, certain answer in
the text. Answer with a JSON array and nothing else: [{"question": "…", "answer": "…"}]`

// questions are those of the file, else a model writes them from all that is before the
// cut.
func (a Asking) questions(ctx context.Context, c *cut, book *questionBook) ([]Question, error) {
	if list := book.about(c.s.Name); len(list) > 0 {
		return list, nil
	}
	text, err := a.say(ctx, fmt.Sprintf(askForQuestions, a.Count), plainText(c.before), 200*a.Count)
	if err != nil {
		return nil, err
	}
	from, to := strings.IndexByte(text, '['), strings.LastIndexByte(text, ']')
	if from < 0 || to < from {
		return nil, errors.New("the model wrote no list of questions")
	}
	var list []Question
	if err := json.Unmarshal([]byte(text[from:to+1]), &list); err != nil {
		return nil, fmt.Errorf("read the model's questions: %w", err)
	}
	list = slices.DeleteFunc(list, func(q Question) bool { return q.Text == "" || q.Gold == "" })
	for i := range list {
		list[i].Session = c.s.Name
	}
	return list, book.add(list)
}

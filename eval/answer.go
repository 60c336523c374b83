package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pleat-dev/pleat"
)

// Question is something that a continuing agent could want to know, with the answer.
type Question struct {
	Session string `json:"session"`
	Type    string `json:"type"` // fact, artifact, decision, constraint or state
	Text    string `json:"question"`
	Gold    string `json:"answer"`
}

// Asked is a model that answers or grades.
type Asked struct {
	Generator pleat.Generator
	Name      string      // tells its answers from another model's in the cache
	Model     pleat.Model // window and prices; zero: not known
}

// Asking lets a model answer questions from each arm's view: first from the view alone,
// then with up to two recalls where the arm has recall. Another or the same model grades
// without knowing which arm it was. Every answer of a model is kept in a folder under the
// hash of what it was asked, so that a run that was broken off goes on where it was, and
// one that is run again costs nothing.
type Asking struct {
	Answerer Asked
	Grader   Asked  // zero: the answerer
	Dir      string // of the cache and of questions.json
	Count    int    // questions for each session; 0: 18
	Budget   int    // tokens of a view; 0: 8,000
	// Summarizer writes the summaries in the views; nil: code does.
	Summarizer *Summarizer
	Progress   func(done, all int)
}

// Answered is how an arm did on the questions of one type.
type Answered struct {
	Arm       string `json:"arm"`
	Budget    int    `json:"budget"`
	Recall    bool   `json:"recall"` // with up to two recalls
	Type      string `json:"type"`
	Questions int    `json:"questions"`
	Full      int    `json:"full"`  // graded 2
	Half      int    `json:"half"`  // graded 1
	Wrong     int    `json:"wrong"` // asserts something that is not so
	Recalls   int    `json:"recalls,omitempty"`
}

// Score is the share of the marks: a full answer is one, half an answer a half.
func (a Answered) Score() float64 { return share(2*a.Full+a.Half, 2*a.Questions) }

func (a Asking) withDefaults() Asking {
	if a.Grader.Generator == nil {
		a.Grader = a.Answerer
	}
	if a.Count == 0 {
		a.Count = 18
	}
	if a.Budget == 0 {
		a.Budget = 8_000
	}
	return a
}

// maxRecalls is how many recalls an answer may take.
const maxRecalls = 2

// Estimate is what asking will cost at most, before anything is asked.
type Estimate struct {
	Requests      int
	Input, Output int     // tokens
	USD           float64 // meaningful if Known
	Known         bool
}

// Estimate says what a run will cost if nothing of it is in the cache.
func (a Asking) Estimate(sessions []Session, arms []Arm) Estimate {
	a = a.withDefaults()
	tokens := pleat.NewTokenizer(pleat.Model{}, nil)
	e := Estimate{Known: true}
	add := func(who Asked, n, input, output int) {
		e.Requests += n
		e.Input += n * input
		e.Output += n * output
		usd, ok := who.Model.Cost(pleat.Usage{Input: input, Output: output})
		e.USD += float64(n) * usd
		e.Known = e.Known && ok
	}
	for i := range sessions {
		w := worker{s: &sessions[i], tokens: tokens}
		size := w.size(sessions[i].futureSpan().cut)
		if !a.takes(size) {
			continue
		}
		add(a.Answerer, 1, size, 150*a.Count)
		for _, arm := range arms {
			if arm.Own || arm.Unbounded {
				continue
			}
			runs, each := 1, 1
			if arm.Weighs { // the arm with recall
				runs, each = 2, 1+maxRecalls
			}
			add(a.Answerer, a.Count*(1+(runs-1)*each), a.Budget+400, 150)
			add(a.Grader, a.Count*runs, 500, 20)
		}
	}
	return e
}

func (a Asking) takes(size int) bool { return float64(size) >= slack*float64(a.Budget) }

// Run asks. The results are in the order of the arms, then of the types.
func (a Asking) Run(ctx context.Context, sessions []Session, arms []Arm) ([]Answered, error) {
	a = a.withDefaults()
	tokens := pleat.NewTokenizer(pleat.Model{}, nil)
	sum := make(map[Answered]Answered) // by arm, recall and type
	var all []Question
	for i := range sessions {
		w := &worker{s: &sessions[i], tokens: tokens, o: Options{Arms: arms, Summarizer: a.Summarizer}}
		c := w.newCut(sessions[i].futureSpan())
		if !a.takes(c.size) {
			continue
		}
		questions, err := a.questions(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("ask about %s: %w", c.s.Name, err)
		}
		all = append(all, questions...)
		for k, arm := range arms {
			if arm.Own || arm.Unbounded {
				continue
			}
			if err := a.arm(ctx, c, k, questions, sum); err != nil {
				return nil, fmt.Errorf("ask about %s, arm %s: %w", c.s.Name, arm.Name, err)
			}
		}
		if a.Progress != nil {
			a.Progress(i+1, len(sessions))
		}
	}
	if err := a.keepQuestions(all); err != nil {
		return nil, err
	}
	out := []Answered{}
	for _, arm := range arms {
		for _, recall := range []bool{false, true} {
			for _, typ := range questionTypes {
				if n, ok := sum[Answered{Arm: arm.Name, Budget: a.Budget, Recall: recall, Type: typ}]; ok {
					out = append(out, n)
				}
			}
		}
	}
	return out, nil
}

var questionTypes = []string{"fact", "artifact", "decision", "constraint", "state"}

// keepQuestions writes the questions down, for people and for other benches.
func (a Asking) keepQuestions(list []Question) error {
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("encode questions: %w", err)
	}
	if err := os.MkdirAll(a.Dir, 0o755); err != nil {
		return fmt.Errorf("keep questions: %w", err)
	}
	if err := os.WriteFile(filepath.Join(a.Dir, "questions.json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("keep questions: %w", err)
	}
	return nil
}

const askForQuestions = `Below is the beginning of a working session of a coding agent. Write %d questions that the agent could need to answer when it goes on with the work: facts found, files made or changed, decisions with their reasons, rules that the user gave, the state of the work. Each must have one short, certain answer in the text. Answer with a JSON array and nothing else: [{"type": "fact|artifact|decision|constraint|state", "question": "…", "answer": "…"}]`

// questions has a model write the questions about what is before the cut.
func (a Asking) questions(ctx context.Context, c *cut) ([]Question, error) {
	text, err := a.ask(ctx, a.Answerer, fmt.Sprintf(askForQuestions, a.Count), plainText(c.before), 200*a.Count)
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
	var out []Question
	for _, q := range list {
		if q.Session = c.s.Name; q.Text != "" && q.Gold != "" && slices.Contains(questionTypes, q.Type) {
			out = append(out, q)
		}
	}
	return out, nil
}

// arm has the questions answered from one arm's view.
func (a Asking) arm(ctx context.Context, c *cut, k int, questions []Question, sum map[Answered]Answered) error {
	m, v, err := c.compact(ctx, c.o.Arms[k], key{k, a.Budget, 1})
	if err != nil {
		return err
	}
	msgs, err := v.Resolve(c.whole.At)
	if err != nil {
		return err
	}
	view := plainText(msgs)
	rec, _ := m.(Recaller)
	ways := []Recaller{nil}
	if rec != nil {
		ways = append(ways, rec)
	}
	for _, q := range questions {
		for _, with := range ways {
			answer, recalls, err := a.answer(ctx, view, q, with)
			if err != nil {
				return err
			}
			if err := a.grade(ctx, c.o.Arms[k].Name, q, answer, with != nil, recalls, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	askClosed = "You go on with a working session. Below is all that you are shown of it. Answer the question from it in one or two sentences. If it is not there, say \"not known\"; do not guess."
	askOpen   = askClosed + "\nWhat you are not shown can be looked up. Answer with one line: SEARCH: words to look for, or UNFOLD: a handle that you are shown, or ANSWER: your answer. You may look up at most two times."
)

var lookUp = regexp.MustCompile(`(?m)^\s*(SEARCH|UNFOLD|ANSWER):\s*(.+)`)

// answer gets an answer, with recalls if there is somebody who gives them.
func (a Asking) answer(ctx context.Context, view string, q Question, rec Recaller) (string, int, error) {
	if rec == nil {
		text, err := a.ask(ctx, a.Answerer, askClosed, view+"\n\nQuestion: "+q.Text, 300)
		return text, 0, err
	}
	found := ""
	for n := 0; ; n++ {
		ask := view + found + "\n\nQuestion: " + q.Text
		if n == maxRecalls {
			ask += "\nYou have looked up twice. ANSWER now."
		}
		text, err := a.ask(ctx, a.Answerer, askOpen, ask, 300)
		if err != nil {
			return "", n, err
		}
		m := lookUp.FindStringSubmatch(text)
		if m == nil || m[1] == "ANSWER" || n == maxRecalls {
			return strings.TrimPrefix(strings.TrimSpace(text), "ANSWER:"), n, nil
		}
		var got string
		if m[1] == "SEARCH" {
			got, err = rec.Search(ctx, m[2])
		} else {
			got, err = rec.Unfold(ctx, strings.TrimSpace(m[2]))
		}
		if err != nil {
			got = err.Error() // the model asked for something that is not there
		}
		found += fmt.Sprintf("\n\n%s %s gave:\n%s", m[1], m[2], got)
	}
}

const askGrade = "Grade an answer against the right one. 2: it has all that the right answer says; 1: a part of it; 0: nothing of it, or it says that it does not know. Wrong is true if it asserts something that contradicts the right answer. Reply with JSON and nothing else: {\"score\": 0, \"wrong\": false}"

// grade has the answer graded by somebody who does not know whose it is.
func (a Asking) grade(ctx context.Context, arm string, q Question, answer string, recall bool, recalls int, sum map[Answered]Answered) error {
	text, err := a.ask(ctx, a.Grader, askGrade, "Question: "+q.Text+"\nRight answer: "+q.Gold+"\nAnswer to grade: "+answer, 50)
	if err != nil {
		return err
	}
	var g struct {
		Score int
		Wrong bool
	}
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &g) != nil {
		return fmt.Errorf("read the grade of %q: the grader said %q", q.Text, text)
	}
	id := Answered{Arm: arm, Budget: a.Budget, Recall: recall, Type: q.Type}
	n, ok := sum[id]
	if !ok {
		n = id
	}
	n.Questions++
	n.Recalls += recalls
	switch {
	case g.Score >= 2:
		n.Full++
	case g.Score == 1:
		n.Half++
	}
	if g.Wrong {
		n.Wrong++
	}
	sum[id] = n
	return nil
}

// ask asks a model, or the cache.
func (a Asking) ask(ctx context.Context, who Asked, system, text string, most int) (string, error) {
	name := filepath.Join(a.Dir, "asked", pleat.HashOf(who.Name+"\x00"+system+"\x00"+text).String()+".txt")
	if data, err := os.ReadFile(name); err == nil {
		return string(data), nil
	}
	reply, err := who.Generator.Generate(ctx, &pleat.Request{
		Model: who.Model.ID, System: system, Messages: []pleat.Message{pleat.User(text)}, MaxTokens: most + 2_000,
	}, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", who.Name, err)
	}
	var out []string
	for _, m := range reply.Messages {
		out = append(out, m.Text())
	}
	answer := strings.TrimSpace(strings.Join(out, "\n"))
	if answer == "" {
		return "", fmt.Errorf("ask %s: the answer is empty (%s)", who.Name, reply.Stop)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", fmt.Errorf("keep answer: %w", err)
	}
	if err := os.WriteFile(name, []byte(answer), 0o644); err != nil {
		return "", fmt.Errorf("keep answer: %w", err)
	}
	return answer, nil
}

// plainText writes messages for a model to read about.
func plainText(msgs []pleat.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case pleat.Text:
				fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role(), blk.Text)
			case pleat.ToolCall:
				fmt.Fprintf(&b, "[call of %s]\n%s\n\n", blk.Name, blk.Input)
			case pleat.ToolResult:
				fmt.Fprintf(&b, "[result]\n%s\n\n", blk.Text())
			}
		}
	}
	return b.String()
}

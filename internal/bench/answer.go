package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Asked is a model that answers or grades.
type Asked struct {
	Generator model.Generator
	Name      string      // tells its answers from another model's in the cache
	Model     model.Model // window and prices; zero: not known
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
	AtATime  int    // questions asked at the same time; 0: 8
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
	if a.AtATime < 1 {
		a.AtATime = 8
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

// add reckons n requests of that size to a model.
func (e *Estimate) add(m model.Model, n, input, output int) {
	e.Requests += n
	e.Input += n * input
	e.Output += n * output
	usd, ok := m.Cost(model.Usage{Input: input, Output: output})
	e.USD += float64(n) * usd
	e.Known = e.Known && ok
}

// Estimate says what a run will cost if nothing of it is in the cache.
func (a Asking) Estimate(sessions []Session, arms []Arm) Estimate {
	a = a.withDefaults()
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	e := Estimate{Known: true}
	for i := range sessions {
		w := worker{s: &sessions[i], tokens: tokens}
		size := w.size(sessions[i].futureSpan().cut)
		if !a.takes(size) {
			continue
		}
		e.add(a.Answerer.Model, 1, size, 150*a.Count)
		for _, arm := range arms {
			if arm.Own || arm.Unbounded {
				continue
			}
			runs, each := 1, 1
			if arm.Weighs { // the arm with recall
				runs, each = 2, 1+maxRecalls
			}
			e.add(a.Answerer.Model, a.Count*(1+(runs-1)*each), a.Budget+400, 150)
			e.add(a.Grader.Model, a.Count*runs, 500, 20)
		}
	}
	return e
}

func (a Asking) takes(size int) bool { return float64(size) >= slack*float64(a.Budget) }

// Run asks. The results are in the order of the arms, then of the types.
func (a Asking) Run(ctx context.Context, sessions []Session, arms []Arm) ([]Answered, error) {
	a = a.withDefaults()
	book, err := openQuestions(a.Dir)
	if err != nil {
		return nil, err
	}
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	sum := make(map[Answered]Answered) // by arm, recall and type
	for i := range sessions {
		w := &worker{s: &sessions[i], tokens: tokens, o: Options{Arms: arms, Summarizer: a.Summarizer}}
		c := w.newCut(sessions[i].futureSpan())
		if !a.takes(c.size) {
			continue
		}
		questions, err := a.questions(ctx, c, book)
		if err != nil {
			return nil, fmt.Errorf("ask about %s: %w", c.s.Name, err)
		}
		if err := a.session(ctx, c, questions, sum); err != nil {
			return nil, fmt.Errorf("ask about %s: %w", c.s.Name, err)
		}
		if a.Progress != nil {
			a.Progress(i+1, len(sessions))
		}
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

// try is one question put to one arm's view.
type try struct {
	arm  string
	view string
	with Recaller // nil: the view alone
	q    Question

	recalls int
	grade   grade
}

// session has the questions about a session answered from every arm's view.
func (a Asking) session(ctx context.Context, c *cut, questions []Question, sum map[Answered]Answered) error {
	var tries []try
	for k, arm := range c.o.Arms {
		if arm.Own || arm.Unbounded {
			continue
		}
		m, v, err := c.compact(ctx, arm, key{k, a.Budget, 1})
		if err != nil {
			return fmt.Errorf("arm %s: %w", arm.Name, err)
		}
		msgs, err := v.Resolve(c.whole.At)
		if err != nil {
			return fmt.Errorf("arm %s: %w", arm.Name, err)
		}
		view := plainText(msgs)
		rec, has := m.(Recaller)
		for _, q := range questions {
			if tries = append(tries, try{arm: arm.Name, view: view, q: q}); has {
				tries = append(tries, try{arm: arm.Name, view: view, q: q, with: rec})
			}
		}
	}
	if err := a.all(ctx, tries); err != nil {
		return err
	}
	for _, t := range tries {
		id := Answered{Arm: t.arm, Budget: a.Budget, Recall: t.with != nil, Type: t.q.Type}
		n, ok := sum[id]
		if !ok {
			n = id
		}
		sum[id] = n.plus(t)
	}
	return nil
}

// all asks some at a time. The first error ends it.
func (a Asking) all(ctx context.Context, tries []try) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *try)
	var wg sync.WaitGroup
	for range min(a.AtATime, len(tries)) {
		wg.Go(func() {
			for t := range next {
				if err := a.put(ctx, t); err != nil {
					cancel(fmt.Errorf("arm %s: %w", t.arm, err))
				}
			}
		})
	}
	for i := range tries {
		if ctx.Err() != nil {
			break
		}
		next <- &tries[i]
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// put has one question answered and graded.
func (a Asking) put(ctx context.Context, t *try) error {
	text, recalls, err := a.answer(ctx, t.view, t.q, t.with)
	if err != nil {
		return err
	}
	t.recalls = recalls
	t.grade, err = a.grade(ctx, t.q, text)
	return err
}

func (a Answered) plus(t try) Answered {
	a.Questions++
	a.Recalls += t.recalls
	switch {
	case t.grade.Score >= 2:
		a.Full++
	case t.grade.Score == 1:
		a.Half++
	}
	if t.grade.Wrong {
		a.Wrong++
	}
	return a
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

// grade is what a grader thinks of an answer.
type grade struct {
	Score int
	Wrong bool
}

// grade has the answer graded by somebody who does not know whose it is.
func (a Asking) grade(ctx context.Context, q Question, answer string) (grade, error) {
	text, err := a.ask(
		ctx, a.Grader, askGrade, "Question: "+q.Text+"\nRight answer: "+q.Gold+"\nAnswer to grade: "+answer, 50,
	)
	if err != nil {
		return grade{}, err
	}
	var g grade
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &g) != nil {
		return g, fmt.Errorf("read the grade of %q: the grader said %q", q.Text, text)
	}
	return g, nil
}

// ask asks a model, or the cache.
func (a Asking) ask(ctx context.Context, who Asked, system, text string, most int) (string, error) {
	name := filepath.Join(a.Dir, "asked", transcript.HashOf(who.Name+"\x00"+system+"\x00"+text).String()+".txt")
	if data, err := os.ReadFile(name); err == nil {
		return string(data), nil
	}
	reply, err := who.Generator.Generate(ctx, &model.Request{
		Model: who.Model.ID, System: system, MaxTokens: most + 2_000,
		Messages: []transcript.Message{transcript.User(text)},
	}, nil)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", who.Name, err)
	}
	answer := strings.TrimSpace(replyText(reply))
	if answer == "" {
		return "", fmt.Errorf("ask %s: the answer is empty (%s)", who.Name, reply.Stop)
	}
	if err := keepText(name, answer); err != nil {
		return "", err
	}
	return answer, nil
}

// plainText writes messages for a model to read about.
func plainText(msgs []transcript.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, blk := range m.Blocks().All() {
			switch blk := blk.(type) {
			case transcript.Text:
				fmt.Fprintf(&b, "[%s]\n%s\n\n", m.Role(), blk.Text)
			case transcript.ToolCall:
				fmt.Fprintf(&b, "[call of %s]\n%s\n\n", blk.Name, blk.Input)
			case transcript.ToolResult:
				fmt.Fprintf(&b, "[result]\n%s\n\n", blk.Text())
			}
		}
	}
	return b.String()
}

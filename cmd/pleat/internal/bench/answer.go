package bench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// Asking lets a model answer questions from each arm's view: first from the view alone,
// then with up to two recalls where the arm has recall. It grades the answers without being
// told which arm they are from.
type Asking struct {
	Asked
	Count  int // questions for each session
	Budget int // tokens of a view
	// Summarizer writes the summaries in the views; nil: code does.
	Summarizer *Summarizer
	Progress   func(done, all int)
}

// Answered is how an arm did.
type Answered struct {
	Arm       string `json:"arm"`
	Budget    int    `json:"budget"`
	Recall    bool   `json:"recall"` // with up to two recalls
	Questions int    `json:"questions"`
	Points    int    `json:"points"` // at most two a question
	Recalls   int    `json:"recalls,omitempty"`
}

// questionsAtATime is how many questions are asked at the same time.
const questionsAtATime = 8

// maxRecalls is how many recalls an answer may take.
const maxRecalls = 2

// Estimate says what a run will cost if nothing of it is in the cache.
func (a Asking) Estimate(sessions []Session, arms []Arm) Estimate {
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	e := Estimate{Known: true}
	for i := range sessions {
		w := worker{s: &sessions[i], tokens: tokens}
		size := w.size(sessions[i].futureSpan().cut)
		if !a.takes(size) {
			continue
		}
		e.add(a.Model, 1, size, 150*a.Count)
		for _, arm := range arms {
			if arm.Own || arm.Unbounded {
				continue
			}
			runs, each := 1, 1
			if arm.Weighs { // the arm with recall
				runs, each = 2, 1+maxRecalls
			}
			e.add(a.Model, a.Count*(1+(runs-1)*each), a.Budget+400, 150)
			e.add(a.Model, a.Count*runs, 500, 20)
		}
	}
	return e
}

func (a Asking) takes(size int) bool { return float64(size) >= slack*float64(a.Budget) }

// Run asks. The results are in the order of the arms.
func (a Asking) Run(ctx context.Context, sessions []Session, arms []Arm) ([]Answered, error) {
	book, err := openQuestions(a.Dir)
	if err != nil {
		return nil, err
	}
	tokens := tokens.NewTokenizer(model.Model{}, nil)
	var out []Answered
	for _, arm := range arms {
		out = append(out, Answered{Arm: arm.Name, Budget: a.Budget}, Answered{Arm: arm.Name, Budget: a.Budget, Recall: true})
	}
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
		if err := a.session(ctx, c, questions, out); err != nil {
			return nil, fmt.Errorf("ask about %s: %w", c.s.Name, err)
		}
		if a.Progress != nil {
			a.Progress(i+1, len(sessions))
		}
	}
	return slices.DeleteFunc(out, func(n Answered) bool { return n.Questions == 0 }), nil
}

// try is one question put to one arm's view.
type try struct {
	arm  int
	view string
	with Recaller // nil: the view alone
	q    Question

	recalls, points int
}

// session has the questions about a session answered from every arm's view.
func (a Asking) session(ctx context.Context, c *cut, questions []Question, sum []Answered) error {
	var tries []try
	for k, arm := range c.o.Arms {
		if arm.Own || arm.Unbounded {
			continue
		}
		m, v, err := c.compact(ctx, arm, key{k, a.Budget, 1})
		var msgs []transcript.Message
		if err == nil {
			msgs, err = v.Resolve(c.whole)
		}
		if err != nil {
			return fmt.Errorf("arm %s: %w", arm.Name, err)
		}
		view := plainText(msgs)
		rec, has := m.(Recaller)
		for _, q := range questions {
			if tries = append(tries, try{arm: k, view: view, q: q}); has {
				tries = append(tries, try{arm: k, view: view, q: q, with: rec})
			}
		}
	}
	put := func(ctx context.Context, i int) error { return a.put(ctx, &tries[i]) }
	if err := each(ctx, len(tries), questionsAtATime, nil, put); err != nil {
		return err
	}
	for _, t := range tries {
		n := &sum[2*t.arm]
		if t.with != nil {
			n = &sum[2*t.arm+1]
		}
		n.Questions, n.Points, n.Recalls = n.Questions+1, n.Points+t.points, n.Recalls+t.recalls
	}
	return nil
}

// put has one question answered and graded.
func (a Asking) put(ctx context.Context, t *try) error {
	text, recalls, err := a.answer(ctx, t.view, t.q, t.with)
	if err != nil {
		return err
	}
	t.recalls = recalls
	t.points, err = a.grade(ctx, t.q, text)
	return err
}

const (
	askClosed = "You go on with a working session. Below is all that you are shown of it. Answer the question from it in one or two sentences. If it is not there, say \"not known\"; do not guess."
	askOpen   = askClosed + "\nWhat you are not shown can be looked up. Answer with one line: SEARCH: words to look for, or UNFOLD: a handle that you are shown, or ANSWER: your answer. You may look up at most two times."
)

var lookUp = regexp.MustCompile(`(?m)^\s*(SEARCH|UNFOLD|ANSWER):\s*(.+)`)

// answer gets an answer, with recalls if there is somebody who gives them.
func (a Asking) answer(ctx context.Context, view string, q Question, rec Recaller) (string, int, error) {
	if rec == nil {
		text, err := a.say(ctx, askClosed, view+"\n\nQuestion: "+q.Text, 300)
		return text, 0, err
	}
	found := ""
	for n := 0; ; n++ {
		ask := view + found + "\n\nQuestion: " + q.Text
		if n == maxRecalls {
			ask += "\nYou have looked up twice. ANSWER now."
		}
		text, err := a.say(ctx, askOpen, ask, 300)
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

const askGrade = "Grade an answer against the right one. 2: it has all that the right answer says; 1: a part of it; " +
	"0: nothing of it, or it says that it does not know. Reply with the number and nothing else."

// grade has the answer graded by somebody who does not know whose it is.
func (a Asking) grade(ctx context.Context, q Question, answer string) (int, error) {
	text, err := a.say(
		ctx, askGrade, "Question: "+q.Text+"\nRight answer: "+q.Gold+"\nAnswer to grade: "+answer, 50,
	)
	if err != nil {
		return 0, err
	}
	points, err := strconv.Atoi(strings.TrimFunc(text, func(r rune) bool { return !unicode.IsDigit(r) }))
	if err != nil || points < 0 || points > 2 {
		return 0, fmt.Errorf("read the grade of %q: the model said %q", q.Text, text)
	}
	return points, nil
}

// say is what the model says to a text.
func (a Asking) say(ctx context.Context, system, text string, most int) (string, error) {
	reply, err := a.ask(ctx, &model.Request{
		Model: a.Model.ID, System: system, MaxTokens: most + 2_000,
		Messages: []transcript.Message{transcript.User(text)},
	})
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", a.Name, err)
	}
	answer := strings.TrimSpace(replyText(reply))
	if answer == "" {
		return "", fmt.Errorf("ask %s: the answer is empty (%s)", a.Name, reply.Stop)
	}
	return answer, nil
}

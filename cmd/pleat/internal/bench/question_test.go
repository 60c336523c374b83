package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/pleattest"
	"github.com/pleat-dev/pleat/transcript"
)

// TestQuestionsOfTheFile asks what the file has, whoever wrote it, and no model for more.
func TestQuestionsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	s := small(t)[:1]
	write := func(text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, "questions.json"), []byte(text), 0o644))
	}
	model := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
		text := "42"
		switch {
		case strings.HasPrefix(req.System, "Grade"):
			text = "1"
		case !strings.Contains(req.Messages[0].Text(), "Question: How many?"):
			t.Errorf("asked something else: %.200s", req.System)
		}
		return model.Reply{
			Messages: []transcript.Message{transcript.Assistant(transcript.Say(text))}, Stop: model.StopEnd,
		}, nil
	}}
	arms, err := ArmsByName("tail")
	must(t, err)
	a := Asking{Asked: Asked{Generator: model, Name: "script", Dir: dir}, Budget: 6_000}

	write(`[{"session": "` + s[0].Name + `", "question": "How many?", "answer": "43"}]`)
	got, err := a.Run(t.Context(), s, arms)
	must(t, err)
	if len(got) != 1 || got[0].Questions != 1 || got[0].Points != 1 {
		t.Errorf("got %+v: want one question, half right", got)
	}
	for _, bad := range []string{`[{"session": "x", "question": "?"}]`, `[{`} {
		write(bad)
		if _, err := a.Run(t.Context(), s, arms); err == nil || !strings.Contains(err.Error(), "questions.json") {
			t.Errorf("%s: got %v, want an error that names the file", bad, err)
		}
	}
}

// TestAskingEndsAtAnError does not hide that a model failed, and keeps what was answered.
func TestAskingEndsAtAnError(t *testing.T) {
	down, graded := errors.New("the server is down"), make(chan bool)
	model := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
		if strings.Contains(req.Messages[0].Text(), "Question: Second?") {
			<-graded
			return model.Reply{}, down
		}
		text := "yes"
		switch {
		case strings.HasPrefix(req.System, "Grade"):
			text = "2"
			close(graded)
		case strings.HasPrefix(req.System, "Below"):
			text = `[{"question":"First?","answer":"yes"},{"question":"Second?","answer":"yes"}]`
		}
		return model.Reply{
			Messages: []transcript.Message{transcript.Assistant(transcript.Say(text))}, Stop: model.StopEnd,
		}, nil
	}}
	arms, err := ArmsByName("tail")
	must(t, err)
	a := Asking{Asked: Asked{Generator: model, Name: "script", Dir: t.TempDir()}, Budget: 6_000}
	if _, err := a.Run(t.Context(), small(t)[:1], arms); !errors.Is(err, down) {
		t.Fatalf("got %v, want the model's error", err)
	}
	kept, err := filepath.Glob(filepath.Join(a.Dir, "asked", "*.txt"))
	if err != nil || len(kept) != 3 {
		t.Errorf("kept %d answers (%v): want the questions, the first answer and its grade", len(kept), err)
	}
}

// TestAsking lets a script write questions, answer and grade them. The second run finds
// everything in the cache.
func TestAsking(t *testing.T) {
	model := &pleattest.Script{Then: func(_ int, req *model.Request) (model.Reply, error) {
		text := req.Messages[0].Text()
		say := func(s string) (model.Reply, error) {
			return model.Reply{
				Messages: []transcript.Message{transcript.Assistant(transcript.Say(s))}, Stop: model.StopEnd,
			}, nil
		}
		switch {
		case strings.HasPrefix(req.System, "Below is the beginning"):
			return say(
				`Here: [{"question":"Which port?","answer":"8081"},
					{"question":"Do the tests pass?","answer":"yes"},{"question":"?"}]`,
			)
		case strings.HasPrefix(req.System, "Grade"):
			if strings.Contains(text, "Answer to grade: yes") || strings.Contains(text, "Answer to grade:  8081") {
				return say("2.")
			}
			return say("0")
		case strings.Contains(text, "Do the tests pass?"):
			return say("yes")
		case !strings.Contains(req.System, "SEARCH"):
			return say("9000")
		case strings.Contains(text, "SEARCH port gave:"):
			return say("ANSWER: 8081")
		}
		return say("SEARCH: port")
	}}
	arms, err := ArmsByName("default", "tail")
	must(t, err)
	a := Asking{Asked: Asked{Generator: model, Name: "script", Dir: t.TempDir()}, Budget: 6_000, Count: 2}
	if e := a.Estimate(small(t)[:1], arms); e.Requests == 0 || e.Input < 10_000 || e.Known {
		t.Errorf("got estimate %+v: want requests, tokens, and no price for a model without one", e)
	}
	want := []Answered{
		{Arm: "default", Budget: 6_000, Questions: 2, Points: 2},
		{Arm: "default", Budget: 6_000, Recall: true, Questions: 2, Points: 4, Recalls: 1},
		{Arm: "tail", Budget: 6_000, Questions: 2, Points: 2},
	}
	asked := 0
	for range 2 {
		got, err := a.Run(t.Context(), small(t)[:1], arms)
		must(t, err)
		difftest.Equal(t, want, got)
		if n := len(model.Requests()); asked > 0 && n != asked {
			t.Errorf("the second run asked %d times more", n-asked)
		} else {
			asked = n
		}
	}
	if data, err := os.ReadFile(filepath.Join(a.Dir, "questions.json")); err != nil ||
		!strings.Contains(string(data), "Which port?") {
		t.Errorf("the questions were not kept: %q, %v", data, err)
	}
	for _, r := range model.Requests() {
		if strings.HasPrefix(r.System, "Grade") &&
			(strings.Contains(r.Messages[0].Text(), "default") || strings.Contains(r.Messages[0].Text(), "tail")) {
			t.Error("the grader can tell whose answer it is")
		}
	}
}

package userwords

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/internal/fence"
	"github.com/pleat-dev/pleat/internal/text"
)

// taskList shows what is open and in progress, and as much of what is done as fits.
func (p *page) taskList(w *Words) {
	t := w.tasks.state
	if t.Tool != "" && t.Message < p.o.UpTo {
		p.taskAs = t.Message + 1
		for _, status := range [...]TaskStatus{TaskInProgress, TaskOpen, TaskDone, TaskCancelled} {
			for _, it := range t.Items {
				if it.Status != status {
					continue
				}
				line := "- " + taskWord[status] + ":" + fence.After("task", strings.TrimSpace(it.Text))
				if p.fits(line) {
					p.tasks = append(p.tasks, line)
				}
			}
		}
	}
	if t.Plan != "" && t.PlanMessage < p.o.UpTo {
		p.plan(w, t)
	}
}

// plan shows the beginning of a plan: half of the room of the list, less if the
// conversation has gone on since. With Whole it shows all of it where that fits.
func (p *page) plan(w *Words, t TaskState) {
	txt, mark, limit := t.Plan, "", maxPlanBytes
	if p.o.Budget > 0 {
		share := 2
		if w.saidSince(t.PlanMessage, p.o.UpTo) > pastPlan {
			share = 6
		}
		limit = min(limit, max(p.o.Tasks/share, 60)*4)
	}
	if len(txt) > limit && !(p.o.Whole && p.o.Count(txt)+aroundPlan <= p.room) {
		txt, mark = text.CutText(txt, limit), "\n  [cut here"+p.rest(t.PlanMessage)+"]"
	}
	plan := fence.After("plan", strings.TrimSpace(txt))
	line := fmt.Sprintf("- plan put before the user in message %d:%s%s", t.PlanMessage+1, plan, mark)
	if p.fits(line) {
		p.tasks = append(p.tasks, line)
	}
}

// saidSince counts what people said after a message and before another.
func (w *Words) saidSince(from, to int) int {
	n := 0
	for _, s := range w.said {
		if s.Message > from && s.Message < to {
			n++
		}
	}
	return n
}

const (
	maxPlanBytes = 4000
	pastPlan     = 8  // messages of the user after which a plan is history
	aroundPlan   = 60 // tokens of the line that a plan is in
)

var taskWord = map[TaskStatus]string{
	TaskInProgress: "in progress", TaskOpen: "open", TaskDone: "done", TaskCancelled: "cancelled",
}

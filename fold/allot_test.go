package fold_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold"
)

func TestAllot(t *testing.T) {
	limits := fold.Budget{Window: 40_000}.Limits()
	restore := fold.Restore{Files: 5, PerFile: 5_000, Total: 50_000}
	base := fold.Demand{Limits: limits, Goal: 20_000, Overhead: 2_000, Fixed: 4_000, Restore: restore}
	with := func(change func(*fold.Demand)) fold.Demand {
		d := base
		change(&d)
		return d
	}
	for _, tt := range []struct {
		name   string
		demand fold.Demand
		want   fold.PageRoom
	}{
		{"by code: half of what is free", base, fold.PageRoom{Total: 8_000, Files: 3_600, Words: 8_000}},
		{
			"by a model: more, and the head's words are part of theirs",
			with(func(d *fold.Demand) { d.Model, d.Typed = true, 1_000 }),
			fold.PageRoom{Total: 9_600, Files: 3_600, Words: 5_666},
		},
		{
			"a digest that is there counts like a model",
			with(func(d *fold.Demand) { d.Told, d.Typed = 3_000, 1_000 }),
			fold.PageRoom{Total: 9_600, Files: 3_600, Words: 5_666},
		},
		{
			"no more than a page is worth",
			with(func(d *fold.Demand) { d.Goal = 100_000 }),
			fold.PageRoom{Total: fold.MaxPage, Files: 10_000, Words: 40_000},
		},
		{
			"as far as it goes: a page as for the target, and no files",
			with(func(d *fold.Demand) { d.Goal = 0 }),
			fold.PageRoom{Total: 8_000, Files: 0, Words: 8_000},
		},
		{
			"next to nothing is free",
			with(func(d *fold.Demand) { d.Goal, d.Fixed = 4_100, 4_000 }),
			fold.PageRoom{Total: 300, Files: 420, Words: 1_400},
		},
		{
			"the lever says how much",
			with(func(d *fold.Demand) { d.Page, d.Restore = 1_234, fold.Restore{} }),
			fold.PageRoom{Total: 1_234, Words: 8_000},
		},
		{
			"at most so many words",
			with(func(d *fold.Demand) { d.Words = 750 }),
			fold.PageRoom{Total: 1_000, Files: 3_600, Words: 8_000},
		},
	} {
		a := fold.Allot(tt.demand)
		if a.Page != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, a.Page, tt.want)
		}
	}
}

// TestAllotHolds: whatever wants a share, no share is negative, a page has room to say
// something, and what people typed never has more than two thirds of what is left.
func TestAllotHolds(t *testing.T) {
	for _, goal := range []int{0, 500, 4_000, 20_000, 200_000} {
		for _, fixed := range []int{0, 300, 3_000, 30_000} {
			for _, said := range []int{0, 200, 50_000} {
				for _, told := range []int{0, 4_000} {
					d := fold.Demand{
						Limits: fold.Budget{Window: 100_000}.Limits(), Goal: goal, Overhead: fixed / 2, Fixed: fixed,
						Said: said, Told: told, Model: said > 0, Restore: fold.Restore{Files: 5, PerFile: 5_000, Total: 50_000},
					}
					a := fold.Allot(d)
					r := a.Page
					if r.Total < 300 || r.Files < 0 || a.Digest(r.Total) < 200 || a.Size(r) < r.Total+r.Files {
						t.Errorf("%+v: %+v, digest %d, size %d", d, r, a.Digest(r.Total), a.Size(r))
					}
					if left := max(goal, 1) - fixed/2; goal > 0 && left > 0 && r.Words > max(left*2/3, goal/16) {
						t.Errorf("%+v: %d for people's words", d, r.Words)
					}
					if b := a.Beside(r, told, 1_000); b.Total < told || b.Files > r.Files {
						t.Errorf("%+v: beside a digest %+v", d, b)
					}
				}
			}
		}
	}
}

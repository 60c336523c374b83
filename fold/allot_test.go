package fold

import (
	"testing"
)

func TestAllot(t *testing.T) {
	limits := Budget{Window: 40_000}.Limits()
	restore := Restore{Files: 5, PerFile: 5_000, Total: 50_000}
	base := demand{Limits: limits, Goal: 20_000, Overhead: 2_000, Fixed: 4_000, Restore: restore}
	with := func(change func(*demand)) demand {
		d := base
		change(&d)
		return d
	}
	for _, tt := range []struct {
		name   string
		demand demand
		want   PageRoom
	}{
		{"by code: half of what is free", base, PageRoom{Total: 8_000, Files: 3_600, Words: 8_000}},
		{
			"by code, after long reports: two thirds",
			with(func(d *demand) { d.Reported = 8_001 }),
			PageRoom{Total: 10_666, Files: 3_600, Words: 8_000, Reported: 8_001},
		},
		{
			"by code, after long reports next to as many words: half, since more does not fit",
			with(func(d *demand) { d.Reported, d.Said, d.Kept = 8_001, 9_000, 1_000 }),
			PageRoom{Total: 8_000, Files: 3_600, Words: 8_000, Reported: 8_001},
		},
		{
			"by a model: more, and the head's words are part of theirs",
			with(func(d *demand) { d.Model, d.Typed = true, 1_000 }),
			PageRoom{Total: MaxPage, Files: 3_600, Words: 7_000},
		},
		{
			"a digest that is there counts like a model",
			with(func(d *demand) { d.Told, d.Typed = 3_000, 1_000 }),
			PageRoom{Total: MaxPage, Files: 3_600, Words: 7_000},
		},
		{
			"no more than a page is worth",
			with(func(d *demand) { d.Goal = 100_000 }),
			PageRoom{Total: MaxPage, Files: 10_000, Words: 40_000},
		},
		{
			"as far as it goes: a page as for the target, and no files",
			with(func(d *demand) { d.Goal = 0 }),
			PageRoom{Total: 8_000, Files: 0, Words: 8_000},
		},
		{
			"next to nothing is free",
			with(func(d *demand) { d.Goal, d.Fixed = 4_100, 4_000 }),
			PageRoom{Total: 300, Files: 420, Words: 1_400},
		},
		{
			"the lever says how much",
			with(func(d *demand) { d.Page, d.Restore = 1_234, Restore{} }),
			PageRoom{Total: 1_234, Words: 8_000},
		},
		{
			"at most so many words",
			with(func(d *demand) { d.Words = 750 }),
			PageRoom{Total: 1_000, Files: 3_600, Words: 8_000},
		},
	} {
		a := allot(tt.demand)
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
					d := demand{
						Limits: Budget{Window: 100_000}.Limits(), Goal: goal, Overhead: fixed / 2, Fixed: fixed,
						Reported: said, Told: told, Model: said > 0,
						Restore: Restore{Files: 5, PerFile: 5_000, Total: 50_000},
					}
					a := allot(d)
					r := a.Page
					if r.Total < 300 || r.Files < 0 || a.digest(r.Total) < 200 || a.Size(r) < r.Total+r.Files {
						t.Errorf("%+v: %+v, digest %d, size %d", d, r, a.digest(r.Total), a.Size(r))
					}
					if left := max(goal, 1) - fixed/2; goal > 0 && left > 0 && r.Words > max(left*2/3, goal/16) {
						t.Errorf("%+v: %d for people's words", d, r.Words)
					}
					if b := a.beside(r, told, 1_000); b.Total < told || b.Files > r.Files {
						t.Errorf("%+v: beside a digest %+v", d, b)
					}
				}
			}
		}
	}
}

// TestRestoreOfFilesAlone gives files no sizes: they come back all the same.
func TestRestoreOfFilesAlone(t *testing.T) {
	want := Restore{Files: 3, PerFile: 5_000, Total: 15_000}
	if got := (Restore{Files: 3}).filled(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	set := Restore{Files: 3, PerFile: 100, Total: 200}
	if got := set.filled(); got != set {
		t.Errorf("what was given became %+v", got)
	}
}

func TestFirstWords(t *testing.T) {
	const page = "one two\n\n## What was done (tool calls)\nthree four\n\n## Five\nsix"
	for n, want := range map[int]string{
		1:  "one …",
		2:  "one two …",
		5:  "one two\n…",
		8:  "one two\n…",
		9:  "one two\n\n## What was done (tool calls)\nthree …",
		12: "one two\n\n## What was done (tool calls)\nthree four\n…",
		13: page,
	} {
		if got := firstWords(page, n); got != want {
			t.Errorf("%d words: %q, want %q", n, got, want)
		}
	}
}

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
)

// olderFile is the form that policy files had before levers were values: a list of lever
// names, with settings and a few flags beside it. "pleat policies NAME" wrote such files.
type olderFile struct {
	Name          string      `json:"name"`
	Doc           string      `json:"doc"`
	Budget        fold.Budget `json:"budget"`
	CharsPerToken int         `json:"chars_per_token"`
	Levers        []string    `json:"levers"`
	EveryTurn     []string    `json:"every_turn"`
	UntilGreen    bool        `json:"until_green"`
	Pays          bool        `json:"pays"`
	Guaranteed    bool        `json:"guaranteed"`
	Spill         struct {
		lever.Spill
		Format string `json:"format"`
	} `json:"spill"`
	Mask struct {
		lever.Mask
		Format string        `json:"format"`
		Idle   time.Duration `json:"idle"`
	} `json:"mask"`
	Collapse lever.Collapse `json:"collapse"`
	Snip     struct {
		lever.Snip
		Format string `json:"format"`
	} `json:"snip"`
	Digest struct {
		lever.Digest
		NoHead   bool   `json:"no_head"`
		Source   int    `json:"source"`
		Format   string `json:"format"`
		Retries  int    `json:"retries"`
		Breaker  int    `json:"breaker"`
		Notes    bool   `json:"notes"`
		EndsTurn bool   `json:"ends_turn"`
		Prompt   string `json:"prompt"`
		ZeroTemp bool   `json:"zero_temp"`
		Trust    bool   `json:"trust"`
	} `json:"digest"`
	Restore  fold.Restore `json:"restore"`
	Reactive struct {
		Tail    int    `json:"tail"`
		Retries int    `json:"retries"`
		Format  string `json:"format"`
	} `json:"reactive"`
	Transcripts string `json:"transcripts"`
}

// parseOlder reads the older form.
func parseOlder(data []byte) (fold.Policy, error) {
	var f olderFile
	if err := strict(data, &f); err != nil {
		return fold.Policy{}, err
	}
	for _, name := range slices.Concat(f.Levers, f.EveryTurn) {
		if !slices.Contains(olderLevers, name) {
			return fold.Policy{}, fmt.Errorf("there is no lever %q: there are %s", name, strings.Join(olderLevers, ", "))
		}
	}
	p := fold.Policy{
		Name: f.Name, Doc: f.Doc, Budget: f.Budget, CharsPerToken: f.CharsPerToken, FoldHead: f.Digest.NoHead, Transcripts: f.Transcripts,
		EveryTurn: f.steps(f.EveryTurn),
	}
	if slices.Contains(f.Levers, "spill") {
		s := f.Spill.Spill
		s.Stub = f.Spill.Format
		p.AtBirth = fold.Steps{s}
	}
	p.AtRed = f.program()
	if f.Reactive.Tail > 0 {
		r := f
		r.Digest.Keep, r.Digest.Whole = f.Reactive.Tail, false
		if f.Reactive.Format != "" {
			r.Digest.Format = f.Reactive.Format
		}
		p.OnRefusal = r.program()
		if f.Reactive.Retries > 1 { // else as every policy does
			p.Retries = f.Reactive.Retries
		}
	}
	if f.Mask.Idle > 0 {
		p.IdleAfter = f.Mask.Idle
		p.WhenIdle = f.steps(slices.DeleteFunc(slices.Clone(f.Levers), func(l string) bool { return l != "supersede" && l != "mask" }))
	}
	if f.Pays {
		p = Pays(p)
	}
	if len(p.AtRed) == 0 && len(p.EveryTurn) == 0 {
		p.AtRed = fold.Steps{lever.Nothing{}}
	}
	return p, nil
}

var olderLevers = []string{"spill", "supersede", "collapse", "mask", "snip", "digest", "squeeze", "truncate"}

// program returns the steps at red that the names and flags mean.
func (f *olderFile) program() fold.Steps {
	steps := f.steps(f.Levers)
	var before, after fold.Steps
	if !f.UntilGreen && len(steps) > 0 {
		before = append(before, lever.Aim{})
	}
	if f.Guaranteed {
		before = append(before, lever.KeepReread{Files: f.Restore.Files, Tokens: f.Restore.PerFile})
		if !f.UntilGreen && !f.Mask.All && f.Mask.Format == "" {
			after = append(after, lever.Refill{})
		}
	}
	return slices.Concat(before, steps, after)
}

// steps returns the levers with those names.
func (f *olderFile) steps(names []string) fold.Steps {
	var steps fold.Steps
	for _, name := range names {
		switch name {
		case "supersede":
			if !f.Mask.ByProvider {
				steps = append(steps, lever.Supersede{Keep: f.Mask.Keep, Exempt: f.Mask.Exempt, Stub: f.Mask.Format})
			}
		case "collapse":
			c := f.Collapse
			c.Keep = f.Digest.Keep
			steps = append(steps, c)
		case "mask":
			m := f.Mask.Mask
			m.Stub, m.Unseen = f.Mask.Format, !f.Guaranteed
			steps = append(steps, m)
		case "snip":
			s := f.Snip.Snip
			if s.Stub = f.Snip.Format; s.Stub == "" {
				s.Restore = f.Restore
			}
			s.UnlessDigest = s.Stub == "" && slices.Contains(f.Levers, "digest")
			steps = append(steps, s)
		case "digest":
			steps = append(steps, f.digest())
		case "squeeze":
			steps = append(steps, lever.Squeeze{Restore: f.Restore})
		case "truncate":
			steps = append(steps, lever.Truncate{})
		}
	}
	return steps
}

func (f *olderFile) digest() fold.Lever {
	d := f.Digest.Digest
	d.Stub, d.Restore = f.Digest.Format, f.Restore
	d.Ask = fold.Ask{
		Prompt: f.Digest.Prompt, Source: f.Digest.Source, Retries: f.Digest.Retries, Breaker: f.Digest.Breaker,
		Notes: f.Digest.Notes, ZeroTemp: f.Digest.ZeroTemp, EndsTurn: f.Digest.EndsTurn,
	}
	if f.Digest.Trust {
		return lever.Summarize(d)
	}
	return d
}

package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modelFile is the table's file. Unknown members are errors: a misspelt price would
// otherwise silently be the old one.
type modelFile struct {
	AsOf    string            `json:"as_of"`
	Comment any               `json:"comment"`
	Sources any               `json:"sources"`
	Models  []json.RawMessage `json:"models"`
}

// modelRow is a row of the table. Rows are merged in this form: a row of a file is decoded
// over the one it changes, and only the result is checked.
type modelRow struct {
	Model
	Like  string              `json:"like"`
	Price map[string]*float64 `json:"price"` // by the names in priceNames; nil: as if it were absent
	Tiers []struct {
		Above  int     `json:"above"`
		Input  float64 `json:"input_times"`
		Output float64 `json:"output_times"`
	} `json:"tiers"`
	Cache struct {
		Minimum int      `json:"minimum"`
		TTL     []string `json:"ttl"`
	} `json:"cache"`
	Comment any `json:"comment"`
}

var priceNames = []string{"input", "cache_write", "cache_write_1h", "cache_read", "output"}

// clone returns a row that can be decoded over without changing this one.
func (r modelRow) clone() modelRow {
	r.Aliases, r.Tiers = slices.Clone(r.Aliases), slices.Clone(r.Tiers)
	r.Thinking.Modes = slices.Clone(r.Thinking.Modes)
	r.Price, r.Cache.TTL = maps.Clone(r.Price), slices.Clone(r.Cache.TTL)
	return r
}

// ParseModels reads a table of models. The file models.json, which is the default
// table, shows the format and explains it in its comment. Errors name the row.
func ParseModels(r io.Reader) (*Models, error) { return (&Models{}).With(r) }

// With returns the table with the rows of a file of the same format laid over it. A row
// for an id that is there changes only the members it names; arrays are replaced whole.
// Other rows are added. A row with "like", for an old id or a new one, begins as a copy of
// the row it names, without its aliases. The file's as_of, if it has one, becomes the
// table's.
func (ms *Models) With(r io.Reader) (*Models, error) {
	out, err := ms.with(r)
	if err != nil {
		return nil, fmt.Errorf("parse model table: %w", err)
	}
	return out, nil
}

func (ms *Models) with(r io.Reader) (*Models, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var file modelFile
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the table")
	}
	if _, err := time.Parse(time.DateOnly, file.AsOf); err != nil && file.AsOf != "" {
		return nil, fmt.Errorf("as_of %q is not a day such as 2026-11-15", file.AsOf)
	}
	out := &Models{asOf: cmp.Or(file.AsOf, ms.asOf), raw: slices.Clone(ms.raw), index: make(map[string]int)}
	seen := make(map[string]bool)
	for i, row := range file.Models {
		var head struct{ ID, Like string }
		_ = json.Unmarshal(row, &head) // decoding the row says what is wrong
		switch {
		case head.ID == "":
			return nil, fmt.Errorf("row %d has no id", i)
		case seen[head.ID]:
			return nil, fmt.Errorf("model %q is listed twice", head.ID)
		}
		seen[head.ID] = true
		if err := out.overlay(head.ID, head.Like, row); err != nil {
			return nil, fmt.Errorf("model %q: %w", head.ID, err)
		}
	}
	return out, out.build()
}

// overlay merges one row of a file into the rows.
func (ms *Models) overlay(id, like string, patch []byte) error {
	find := func(id string) int { return slices.IndexFunc(ms.raw, func(r modelRow) bool { return r.ID == id }) }
	at, from := find(id), find(cmp.Or(like, id))
	row := modelRow{}
	switch {
	case from >= 0:
		row = ms.raw[from].clone()
	case like != "":
		return fmt.Errorf("like %s: no such model above it", like)
	}
	if like != "" {
		row.Aliases = nil
	}
	dec := json.NewDecoder(bytes.NewReader(patch))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&row); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if at < 0 {
		ms.raw = append(ms.raw, row)
	} else {
		ms.raw[at] = row
	}
	return nil
}

// build checks the merged rows and makes the models of them.
func (ms *Models) build() error {
	for i, row := range ms.raw {
		m, err := row.model()
		if err != nil {
			return fmt.Errorf("model %q: %w", row.ID, err)
		}
		ms.rows = append(ms.rows, m)
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if name != normalModel(name) || name == "" {
				return fmt.Errorf("model %q: name %q must be lower case, without provider", m.ID, name)
			}
			if other, ok := ms.index[name]; ok {
				return fmt.Errorf("model %q: name %q is taken by %q", m.ID, name, ms.rows[other].ID)
			}
			ms.index[name] = i
		}
	}
	return nil
}

func (r *modelRow) model() (m Model, err error) {
	m = r.Model
	m.Cache.Minimum = r.Cache.Minimum
	for _, ttl := range r.Cache.TTL {
		d, err := time.ParseDuration(ttl)
		if err != nil || d <= 0 {
			return Model{}, fmt.Errorf("cache ttl %q is not a duration such as 5m", ttl)
		}
		m.Cache.TTL = append(m.Cache.TTL, d)
	}
	if m.Prices, err = r.prices(); err != nil {
		return Model{}, err
	}
	return m, m.check()
}

// prices makes the list of prices: the base price, then one for each tier.
func (r *modelRow) prices() ([]Price, error) {
	if r.Price == nil {
		return nil, nil // tiers without a price mean nothing
	}
	for name := range r.Price {
		if !slices.Contains(priceNames, name) {
			return nil, fmt.Errorf("unknown field %q in price", name)
		}
	}
	if r.Price["input"] == nil || r.Price["output"] == nil {
		return nil, errors.New("price needs input and output")
	}
	or := func(name string, other float64) float64 { return *cmp.Or(r.Price[name], &other) }
	p := Price{Input: or("input", 0), Output: or("output", 0)}
	p.CacheWrite = or("cache_write", p.Input)
	p.CacheWrite1h = or("cache_write_1h", p.CacheWrite)
	p.CacheRead = or("cache_read", p.Input)
	if min(p.Input, p.CacheWrite, p.CacheWrite1h, p.CacheRead, p.Output) < 0 {
		return nil, errors.New("price is negative")
	}
	list := []Price{p}
	for _, t := range r.Tiers {
		if t.Above <= list[len(list)-1].Above {
			return nil, fmt.Errorf("tier above %d: thresholds must be positive and ascending", t.Above)
		}
		if t.Input <= 0 || t.Output <= 0 {
			return nil, fmt.Errorf("tier above %d: input_times and output_times must be positive", t.Above)
		}
		list = append(list, Price{
			Above: t.Above, Input: times(p.Input, t.Input), Output: times(p.Output, t.Output),
			CacheWrite: times(p.CacheWrite, t.Input), CacheWrite1h: times(p.CacheWrite1h, t.Input),
			CacheRead: times(p.CacheRead, t.Input),
		})
	}
	return list, nil
}

// times multiplies a price without the noise of binary fractions: 1.2 times 1.5 is 1.8.
func times(price, by float64) float64 { return math.Round(price*by*1e9) / 1e9 }

// CharsPerToken is the number of characters that make a token, 0 if that is not how tokens are estimated.
func (r TokenRule) CharsPerToken() float64 {
	number, ok := strings.CutPrefix(r.Encoding, "chars/")
	if n, err := strconv.ParseFloat(number, 64); ok && err == nil && n >= 0.1 && n <= 100 {
		return n
	}
	return 0
}

func (m Model) check() error {
	switch {
	case m.Window <= 0:
		return errors.New("window must be positive")
	case m.MaxInput < 0 || m.MaxInput > m.Window:
		return fmt.Errorf("max_input %d is not within the window of %d", m.MaxInput, m.Window)
	case m.MaxOutput < 0 || m.MaxOutput > m.Window:
		return fmt.Errorf("max_output %d is not within the window of %d", m.MaxOutput, m.Window)
	case m.Cache.Minimum < 0:
		return errors.New("cache minimum is negative")
	case m.Tokenizer.Ratio < 0.1 || m.Tokenizer.Ratio > 10:
		return fmt.Errorf("tokenizer ratio %v is not between 0.1 and 10", m.Tokenizer.Ratio)
	}
	if m.Tokenizer.Encoding != "o200k_base" && m.Tokenizer.CharsPerToken() == 0 {
		return fmt.Errorf("tokenizer encoding %q is neither o200k_base nor chars/N", m.Tokenizer.Encoding)
	}
	if m.Retires != "" {
		if _, err := time.Parse(time.DateOnly, m.Retires); err != nil {
			return fmt.Errorf("retires %q is not a day such as 2026-11-30", m.Retires)
		}
	}
	return m.Images.check()
}

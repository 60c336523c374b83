package model

import (
	"bytes"
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

// A modelRow is a row of the table as JSON members. Rows are merged in this form, so
// that a field which is absent differs from one which is zero, and only the result is
// checked and decoded.
type modelRow map[string]any

// modelFile is the table's file. Unknown members are errors: a misspelt price would
// otherwise silently be the old one.
type modelFile struct {
	AsOf    string     `json:"as_of"`
	Comment any        `json:"comment"`
	Sources any        `json:"sources"`
	Models  []modelRow `json:"models"`
}

// modelJSON is a merged row.
type modelJSON struct {
	Model
	Price *priceJSON `json:"price"`
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

type priceJSON struct {
	Input        *float64 `json:"input"`
	CacheWrite   *float64 `json:"cache_write"`
	CacheWrite1h *float64 `json:"cache_write_1h"`
	CacheRead    *float64 `json:"cache_read"`
	Output       *float64 `json:"output"`
}

// ParseModels reads a table of models. The file models.json, which is the default
// table, shows the format and explains it in its comment. Errors name the row.
func ParseModels(r io.Reader) (*Models, error) { return (&Models{}).With(r) }

// With returns the table with the rows of a file of the same format laid over it. A row
// for an id that is there changes only the members it names, as a JSON merge patch
// (RFC 7396) does: null removes, arrays are replaced whole. Other rows are added. A row
// with "like", for an old id or a new one, begins as a copy of the row it names, without
// its aliases. The file's as_of, if it has one, becomes the table's.
func (ms *Models) With(r io.Reader) (*Models, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var file modelFile
	if err := dec.Decode(&file); err != nil {
		return nil, fmt.Errorf("parse model table: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("parse model table: there is more text after the table")
	}
	out := &Models{asOf: ms.asOf, raw: slices.Clone(ms.raw), index: make(map[string]int)}
	if file.AsOf != "" {
		if _, err := time.Parse(time.DateOnly, file.AsOf); err != nil {
			return nil, fmt.Errorf("parse model table: as_of %q is not a day such as 2026-11-15", file.AsOf)
		}
		out.asOf = file.AsOf
	}
	seen := make(map[string]bool)
	for i, row := range file.Models {
		id, _ := row["id"].(string)
		if id == "" {
			return nil, fmt.Errorf("parse model table: row %d has no id", i)
		}
		if seen[id] {
			return nil, fmt.Errorf("parse model table: model %q is listed twice", id)
		}
		seen[id] = true
		if err := out.overlay(id, row); err != nil {
			return nil, fmt.Errorf("parse model table: model %q: %w", id, err)
		}
	}
	return out, out.build()
}

// overlay merges one row of a file into the raw rows.
func (ms *Models) overlay(id string, patch modelRow) error {
	at := slices.IndexFunc(ms.raw, func(r modelRow) bool { return r["id"] == id })
	base := modelRow{}
	if at >= 0 {
		base = ms.raw[at]
	}
	if like, ok := patch["like"]; ok {
		from := slices.IndexFunc(ms.raw, func(r modelRow) bool { return r["id"] == like })
		if from < 0 {
			return fmt.Errorf("like %v: no such model above it", like)
		}
		base = maps.Clone(ms.raw[from])
		delete(base, "aliases")
	}
	row := mergePatch(base, patch)
	delete(row, "like")
	if at >= 0 {
		ms.raw[at] = row
	} else {
		ms.raw = append(ms.raw, row)
	}
	return nil
}

// mergePatch applies RFC 7396. It shares what it does not change and changes neither.
func mergePatch(base, patch map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = make(map[string]any)
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			inner, _ := out[k].(map[string]any)
			out[k] = mergePatch(inner, v)
		default:
			out[k] = v
		}
	}
	return out
}

// build decodes and checks the merged rows.
func (ms *Models) build() error {
	for i, raw := range ms.raw {
		m, err := decodeModel(raw)
		if err != nil {
			return fmt.Errorf("parse model table: model %q: %w", raw["id"], err)
		}
		ms.rows = append(ms.rows, m)
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if name != normalModel(name) || name == "" {
				return fmt.Errorf("parse model table: model %q: name %q must be lower case, without provider", m.ID, name)
			}
			if other, ok := ms.index[name]; ok {
				return fmt.Errorf("parse model table: model %q: name %q is taken by %q", m.ID, name, ms.rows[other].ID)
			}
			ms.index[name] = i
		}
	}
	return nil
}

func decodeModel(raw modelRow) (Model, error) {
	text, err := json.Marshal(raw)
	if err != nil {
		return Model{}, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var j modelJSON
	if err := dec.Decode(&j); err != nil {
		return Model{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	m := j.Model
	m.Cache.Minimum = j.Cache.Minimum
	for _, ttl := range j.Cache.TTL {
		d, err := time.ParseDuration(ttl)
		if err != nil || d <= 0 {
			return Model{}, fmt.Errorf("cache ttl %q is not a duration such as 5m", ttl)
		}
		m.Cache.TTL = append(m.Cache.TTL, d)
	}
	if m.Prices, err = j.prices(); err != nil {
		return Model{}, err
	}
	return m, m.check()
}

// prices makes the list of prices: the base price, then one for each tier.
func (j *modelJSON) prices() ([]Price, error) {
	if j.Price == nil {
		return nil, nil // tiers without a price mean nothing
	}
	if j.Price.Input == nil || j.Price.Output == nil {
		return nil, errors.New("price needs input and output")
	}
	or := func(v *float64, other float64) float64 {
		if v == nil {
			return other
		}
		return *v
	}
	p := Price{Input: *j.Price.Input, Output: *j.Price.Output}
	p.CacheWrite = or(j.Price.CacheWrite, p.Input)
	p.CacheWrite1h = or(j.Price.CacheWrite1h, p.CacheWrite)
	p.CacheRead = or(j.Price.CacheRead, p.Input)
	if min(p.Input, p.CacheWrite, p.CacheWrite1h, p.CacheRead, p.Output) < 0 {
		return nil, errors.New("price is negative")
	}
	list := []Price{p}
	for _, t := range j.Tiers {
		if t.Above <= list[len(list)-1].Above {
			return nil, fmt.Errorf("tier above %d: thresholds must be positive and ascending", t.Above)
		}
		if t.Input <= 0 || t.Output <= 0 {
			return nil, fmt.Errorf("tier above %d: input_times and output_times must be positive", t.Above)
		}
		list = append(list, Price{
			Above: t.Above, Input: times(p.Input, t.Input), CacheWrite: times(p.CacheWrite, t.Input),
			CacheWrite1h: times(p.CacheWrite1h, t.Input), CacheRead: times(p.CacheRead, t.Input), Output: times(p.Output, t.Output),
		})
	}
	return list, nil
}

// times multiplies a price without the noise of binary fractions: 1.2 times 1.5 is 1.8.
func times(price, by float64) float64 { return math.Round(price*by*1e9) / 1e9 }

// knownEncoding reports whether tokens can be counted by an encoding. Package tokens has
// the counters; a test there holds the two together.
func knownEncoding(name string) bool {
	if n, ok := strings.CutPrefix(name, "chars/"); ok {
		f, err := strconv.ParseFloat(n, 64)
		return err == nil && f >= 0.1 && f <= 100
	}
	return name == "o200k_base" || name == "cl100k_base"
}

// check reports values that no model can have.
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
	case m.Tokenizer.Error < 0 || m.Tokenizer.Error > 1:
		return fmt.Errorf("tokenizer error %v is not between 0 and 1", m.Tokenizer.Error)
	case m.Thinking.Keep != "" && m.Thinking.Keep != KeepAll && m.Thinking.Keep != KeepLastTurn:
		return fmt.Errorf("thinking keep %q is neither %q nor %q", m.Thinking.Keep, KeepAll, KeepLastTurn)
	}
	if !knownEncoding(m.Tokenizer.Encoding) {
		return fmt.Errorf("tokenizer encoding %q is not o200k_base, cl100k_base or chars/N", m.Tokenizer.Encoding)
	}
	if m.Retires != "" {
		if _, err := time.Parse(time.DateOnly, m.Retires); err != nil {
			return fmt.Errorf("retires %q is not a day such as 2026-11-30", m.Retires)
		}
	}
	return m.Images.check()
}

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/models"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/model"
)

func pricesCommand(p *term.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "prices [MODEL]",
		Args:  takes(0, 1, "one model"),
		Short: "show the table of models: windows and prices, with its date",
		Long: `Prints the table of models that came with this version: their windows, their prices in USD
for a million tokens, and the date of the table. With MODEL, a name as it appears in requests,
it prints only the row that pleat would use for it.`,
		Example: `# everything
pleat prices
# which row is used for this name?
pleat prices us.anthropic.claude-opus-4-5`,
	}
	fs := c.Flags()
	asJSON := fs.Bool("json", false, "print one JSON object")
	c.RunE = runs(p, func(_ context.Context, p *term.Console, args []string) error {
		table := model.DefaultModels()
		if len(args) == 0 {
			return p.Output(*asJSON, pricesOf(table.AsOf(), slices.Collect(table.All())))
		}
		m, ok := table.Lookup(args[0])
		if !ok {
			return fmt.Errorf("model %q is not in the table of %s%s (other names are counted as %q)", args[0], table.AsOf(), term.DidYouMean("", args[0], models.Names()), model.UnknownModel)
		}
		if meant := models.Meant(args[0]); meant != "" {
			p.Note("pleat: the table has no model %q, only its family%s\n", args[0], meant)
		}
		return p.Output(*asJSON, pricesOf(table.AsOf(), []model.Model{m}))
	})
	return c
}

// pricesJSON is what "pleat prices --json" prints.
type pricesJSON struct {
	Format string      `json:"format"`
	AsOf   string      `json:"as_of"`
	Models []modelJSON `json:"models"`
}

type modelJSON struct {
	ID        string        `json:"id"`
	Provider  string        `json:"provider,omitempty"`
	Window    int           `json:"window"`
	MaxInput  int           `json:"max_input,omitempty"`
	MaxOutput int           `json:"max_output,omitempty"`
	Encoding  string        `json:"encoding"`
	Ratio     float64       `json:"ratio"`
	Prices    []model.Price `json:"prices"`
	Retires   string        `json:"retires,omitempty"`
}

func pricesOf(asOf string, models []model.Model) pricesJSON {
	j := pricesJSON{"pleat/prices/1", asOf, []modelJSON{}}
	for _, m := range models {
		prices := append([]model.Price{}, m.Prices...)
		j.Models = append(j.Models, modelJSON{m.ID, m.Provider, m.Window, m.MaxInput, m.MaxOutput, m.Tokenizer.Encoding, m.Tokenizer.Ratio, prices, m.Retires})
	}
	return j
}

func (j pricesJSON) Print(p *term.Page) {
	p.Line("USD for a million tokens, as of %s", j.AsOf)
	p.Line("")
	name := min(term.Widest(j.Models, func(m modelJSON) string { return m.ID }), p.Width-50)
	p.Line("%s", p.Dim(fmt.Sprintf("%s%8s%9s%9s%9s%9s", term.Pad("model", name), "window", "input", "write", "read", "output")))
	for _, m := range j.Models {
		if len(m.Prices) == 0 {
			p.Line("%s%8s%9s", term.Pad(p.Clip(m.ID, name), name), term.Short(m.Window), "–")
		}
		for i, t := range m.Prices {
			id, window := m.ID, term.Short(m.Window)
			if i > 0 {
				id, window = "  prompts above "+term.Short(t.Above), ""
			}
			p.Line("%s%8s%9s%9s%9s%9s", term.Pad(p.Clip(id, name), name), window, usd(t.Input), usd(t.CacheWrite), usd(t.CacheRead), usd(t.Output))
		}
	}
}

// usd writes a price with as many digits as it has, at least two.
func usd(f float64) string {
	s := strconv.FormatFloat(math.Round(f*1e6)/1e6, 'f', -1, 64)
	if i := strings.IndexByte(s, '.'); i < 0 || len(s)-i < 3 {
		s = strconv.FormatFloat(f, 'f', 2, 64)
	}
	return s
}

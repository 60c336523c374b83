package model

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pleat-dev/pleat/internal/text"
)

// Model is what is known of a model: sizes, prices and rules. Rows come from a table
// with a date, see [Models]; a program may also fill one in by hand. The tags are those of
// the table's file.
type Model struct {
	ID       string   `json:"id"`
	Provider string   `json:"provider"` // "anthropic", "openai", "google", …; empty: not known
	Aliases  []string `json:"aliases"`  // other names of the same model

	Window    int `json:"window"`     // tokens of prompt and answer together
	MaxInput  int `json:"max_input"`  // tokens of the prompt alone; 0: limited only by the window
	MaxOutput int `json:"max_output"` // tokens of the answer; 0: not known

	// Prices are sorted by Above; the last one whose Above the prompt exceeds is the
	// price of the whole request. Empty: not known. See [Model.PriceAt].
	Prices []Price `json:"-"`

	Tokenizer TokenRule    `json:"tokenizer"` // zero: o200k_base
	Images    ImageRule    `json:"images"`    // how pictures are counted
	Cache     CacheRule    `json:"-"`         // what the prompt cache needs
	Thinking  ThinkingRule `json:"thinking"`  // what happens to thinking in the history

	// What the model answers with an error although others of its provider accept it.
	Refuses struct {
		Temperature bool `json:"temperature"` // any temperature, top_p or top_k but the default
		Prefill     bool `json:"prefill"`     // a conversation that ends with an assistant message
	} `json:"refuses"`
	// What the model accepts although others of its provider refuse it.
	Accepts struct {
		SystemMessages bool `json:"system_messages"` // messages of role system among the others
	} `json:"accepts"`

	Retires string `json:"retires"` // the day the provider turns it off, as 2006-01-02; empty: not announced
}

// Price is what a million tokens cost, in USD.
type Price struct {
	Above        int     `json:"above"` // prompts with more tokens than this pay it, for all of the request
	Input        float64 `json:"input"`
	CacheWrite   float64 `json:"cache_write"` // with the short or only lifetime; what Input costs where writing is free
	CacheWrite1h float64 `json:"cache_write_1h"`
	CacheRead    float64 `json:"cache_read"`
	Output       float64 `json:"output"`
}

// TokenRule says how a model's tokens are estimated: with a public encoding, times a
// ratio.
type TokenRule struct {
	Encoding string  `json:"encoding"` // "o200k_base", or "chars/N" with a number N
	Ratio    float64 `json:"ratio"`    // the model's tokens for each of the encoding's
}

// CacheRule says what a provider's prompt cache needs.
type CacheRule struct {
	Minimum int             // tokens a prefix must have to be cached, 0: not known
	TTL     []time.Duration // lifetimes on offer, default first; empty: not known
}

// ThinkingRule says what happens to a model's thinking in the history.
type ThinkingRule struct {
	// Bound: a thinking block is valid only behind exactly the bytes it was made behind;
	// any change before it makes it and all later ones invalid.
	Bound bool `json:"bound"`
	// Signed: in the current turn, the first call of each answer must come back with the
	// signature that the provider gave it.
	Signed bool `json:"signed"`
	// First: a turn with open tool calls must begin with thinking. Like the next two it is not of the
	// model but of a conversation with it: it holds for requests that ask for thinking of a fixed size.
	First bool `json:"-"`
	// Silent: the provider cannot be asked to drop thinking that has become invalid: block_binding goes
	// with adaptive and enabled thinking only.
	Silent bool `json:"-"`
	// Drops: every request asks for that, as anthropic.Client does. pleat.Session.Messages needs to know it.
	Drops bool `json:"-"`
	// Modes are the values of thinking.type the model takes; empty: not known, or none.
	Modes []string `json:"modes"`
}

// PriceAt returns the price of a request whose prompt has that many tokens.
func (m Model) PriceAt(prompt int) (Price, bool) {
	for i := len(m.Prices) - 1; i >= 0; i-- {
		if p := m.Prices[i]; p.Above == 0 || prompt > p.Above {
			return p, true
		}
	}
	return Price{}, false
}

// Cost returns what a request cost in USD by the table's prices, without discounts for
// batches or surcharges for regions. Above a tier's threshold the tier's price applies to
// the whole request, including the answer. It reports false if the price is not known.
func (m Model) Cost(u Usage) (usd float64, known bool) {
	p, ok := m.PriceAt(u.Prompt())
	if !ok {
		return 0, false
	}
	sum := float64(u.Input)*p.Input + float64(u.CacheRead)*p.CacheRead +
		float64(u.CacheWrite)*p.CacheWrite + float64(u.CacheWrite1h)*p.CacheWrite1h +
		float64(u.Output)*p.Output
	return sum / 1e6, true
}

// DefaultWindow is the window that is assumed where no window is set and no model says
// one. It is not for models that the table does not know: for them [Models.Lookup] returns
// the row [UnknownModel], with 128,000 tokens in the default table.
const DefaultWindow = 200_000

// Rates are the prices of prompt tokens relative to the plain input price.
type Rates struct {
	Write float64 `json:"write"` // 1.25 where cache writes cost extra
	Read  float64 `json:"read"`  // 0.1 and less
}

// DefaultRates apply where the model's prices are not known.
var DefaultRates = Rates{Write: 1.25, Read: 0.1}

// Models is a table of models with a date. It cannot be changed and is safe for
// concurrent use; [Models.With] makes another one. The slices in its rows are shared:
// callers must not change them.
type Models struct {
	asOf  string
	rows  []Model
	index map[string]int // ids and aliases
	raw   []modelRow     // as merged, for With
}

//go:embed models.json
var modelsJSON string

var defaultModels = sync.OnceValue(func() *Models {
	m, err := ParseModels(strings.NewReader(modelsJSON))
	if err != nil {
		panic("models.json: " + err.Error()) // a test reads it
	}
	return m
})

// DefaultModels returns the table that came with this version. Prices change more often
// than programs are updated: see [Models.AsOf] and [Models.With].
func DefaultModels() *Models { return defaultModels() }

// AsOf is the day the table describes, as 2006-01-02.
func (ms *Models) AsOf() string { return ms.asOf }

// All yields the models in the order of the table.
func (ms *Models) All() iter.Seq[Model] { return slices.Values(ms.rows) }

// UnknownModel is the id of the row for every model that has none. A user's file may change
// it like any other: for a fleet of local models it should have their real window.
const UnknownModel = "unknown"

// Lookup finds a model by the name a request has. It takes
//
//   - ids and aliases of the table;
//   - with a date or the like behind them: claude-opus-5-5-20260901, …-latest, …@20260901,
//     …[1m], …-v1:0;
//   - with a provider or a path in front: openai/gpt-5.4, us.anthropic.claude-opus-5-5,
//     models/gemini-2.5-pro; and claude-opus-4.5 for claude-opus-4-5;
//   - other variants (gpt-5.4-codex), which get the rules of the longest name they begin
//     with but not its prices, because variants are priced as they please.
//
// For all others it reports false and returns the row [UnknownModel]: a window of 128,000
// tokens, the smallest that hosted models have today, no price, and no feature that some
// model refuses, except a temperature: whoever sets one means it. A local server's window is
// often smaller; ask the server.
func (ms *Models) Lookup(id string) (Model, bool) {
	name := normalModel(id)
	if i, ok := ms.index[name]; ok && name != UnknownModel {
		return ms.rows[i], true
	}
	best, bestLen := -1, 0
	for row, i := range ms.index {
		if len(row) > bestLen && row != UnknownModel && strings.HasPrefix(name, row) &&
			continuesModel(row, name[len(row):]) {
			best, bestLen = i, len(row)
		}
	}
	if best < 0 {
		if _, ok := ms.index[UnknownModel]; !ok { // a table of the user's own
			ms = DefaultModels()
		}
		return ms.rows[ms.index[UnknownModel]], false
	}
	m := ms.rows[best]
	if !sameModel(name[bestLen:]) {
		m.Prices = nil
	}
	return m, true
}

// normalModel removes what comes before a model's own name.
func normalModel(id string) string {
	name := strings.ToLower(strings.TrimSpace(id))
	name = name[strings.LastIndexByte(name, '/')+1:]
	// Amazon Bedrock: region and vendor, us.anthropic.claude-…
	if _, rest, ok := strings.Cut(name, "anthropic."); ok {
		name = rest
	}
	if strings.HasPrefix(name, "claude") { // some catalogues write versions with a dot
		name = strings.ReplaceAll(name, ".", "-")
	}
	return name
}

// continuesModel reports whether the rest of a name may follow a row's id as a variant of
// that model. A further small number does not: claude-opus-4-9 is not a claude-opus-4,
// nor gpt-5.9 a gpt-5.
func continuesModel(row, rest string) bool {
	switch rest[0] {
	case '@', ':', '[':
		return true
	case '-':
		rest = rest[1:]
	default:
		return false
	}
	n := text.DigitsEnd(rest, 0)
	return rest != "" && (n == 0 || n > 2 || !text.IsDigitByte(row[len(row)-1]))
}

// sameModel reports whether the rest of a name only says when or how the same model is
// served: dates, versions of a deployment, sizes of its window.
func sameModel(rest string) bool {
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune("-@:[]", r) }) {
		switch {
		case text.IsDigits(part), part == "latest", part == "preview", part == "thinking", part == "1m":
		case part[0] == 'v' && strings.Trim(part[1:], "0123456789") == "":
		default:
			return false
		}
	}
	return true
}

package policy_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/fold/lever"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/internal/inside"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

func TestRoundTrip(t *testing.T) {
	for _, p := range append(policy.All(), policy.Pays(policy.Default())) {
		data, err := policy.Format(p)
		must(t, err)
		got, err := policy.Parse(data)
		if err != nil {
			t.Errorf("%s: %v\n%s", p.Name, err, data)
		} else if d := difftest.Values(p, got); d != "" {
			t.Errorf("%s changed (-before +after):\n%s", p.Name, d)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", " \n", `it is empty: a policy is an object such as {"name": "mine", `},
		{"a list", `[]`, `it is no object: a policy is an object such as {"name": "mine", `},
		{"null", `null`, `it is no object: a policy is an object such as {"name": "mine", `},
		{"no step", `{"name": "a", "at_red": ["mask"]}`, `step 1 of at_red: a step is an object such as {"lever": `},
		{
			"wrong kind", `{"name": "a", "at_red": [{"lever": "mask", "keep": "3"}]}`,
			`lever "mask": "keep" has the wrong kind of value: string`,
		},
		{"no JSON", `keep: 3`, "invalid character"},
		{"more behind it", `{"name": "a", "at_red": [{"lever": "mask"}]} {}`, "after"},
		{"no name", `{"at_red": [{"lever": "mask"}]}`, "no name"},
		{"no steps", `{"name": "a"}`, "no steps"},
		{"unknown member", `{"name": "a", "at_noon": []}`, `"at_noon"`},
		{"a list of names", `{"name": "a", "levers": ["mask"]}`, `"levers"`},
		{"a name instead of an object", `{"name": "a", "at_red": ["mask"]}`, "step 1 of at_red"},
		{"no lever", `{"name": "a", "at_red": [{"keep": 3}]}`, `{"lever": "mask", "keep": 3}`},
		{
			"unknown lever", `{"name": "a", "at_red": [{"lever": "aim"}, {"lever": "masc"}]}`,
			`step 2 of at_red: there is no lever "masc": there are aim, `,
		},
		{
			"unknown setting", `{"name": "a", "at_red": [{"lever": "mask", "kepe": 3}]}`,
			`lever "mask": json: unknown field "kepe"`,
		},
		{"setting of the wrong type", `{"name": "a", "at_red": [{"lever": "mask", "keep": "3"}]}`, `lever "mask"`},
		{
			"spill at red", `{"name": "a", "at_red": [{"lever": "spill", "chars": 3}]}`,
			`lever "spill" can only be pulled at birth`,
		},
		{"mask at birth", `{"name": "a", "at_birth": [{"lever": "mask"}]}`, `lever "mask" cannot be pulled at birth`},
		{"negative keep", `{"name": "a", "at_red": [{"lever": "mask", "keep": -1}]}`, "must not be negative"},
		{
			"negative keep of supersede", `{"name": "a", "at_red": [{"lever": "supersede", "keep": -1}]}`,
			"must not be negative",
		},
		{"negative files", `{"name": "a", "at_red": [{"lever": "keep-reread", "files": -1}]}`, "must not be negative"},
		{
			"negative restore", `{"name": "a", "at_red": [{"lever": "squeeze", "restore": {"files": -1}}]}`,
			"must not be negative",
		},
		{
			"negative retries", `{"name": "a", "at_red": [{"lever": "digest", "ask": {"retries": -1}}]}`,
			"must not be negative",
		},
		{"blank stub", `{"name": "a", "at_red": [{"lever": "snip", "stub": " "}]}`, `lever "snip": stub is blank`},
		{
			"blank answer", `{"name": "a", "at_red": [{"lever": "summarize", "ack": "\n"}]}`,
			`lever "summarize": ack is blank`,
		},
		{
			"stub of a preview that is not there",
			`{"name": "a", "at_birth": [{"lever": "spill", "stub": "{preview}"}]}`, `lever "spill": stub is blank`,
		},
		{
			"negative characters", `{"name": "a", "chars_per_token": -4, "at_red": [{"lever": "mask"}]}`,
			"must not be negative",
		},
		{
			"negative window", `{"name": "a", "budget": {"window": -5}, "at_red": [{"lever": "mask"}]}`,
			"a window of -5 tokens",
		},
		{
			"more than the window", `{"name": "a", "budget": {"red": "300%"}, "at_red": [{"lever": "mask"}]}`,
			`"300%": out of range`,
		},
		{
			"nothing that saves", `{"name": "a", "at_red": [{"lever": "mask"}], "when_it_pays": [{"lever": "aim"}]}`,
			"when_it_pays",
		},
		{"idle without a time", `{"name": "a", "when_idle": [{"lever": "mask"}]}`, "idle_after"},
		{"a time without idle", `{"name": "a", "at_red": [{"lever": "mask"}], "idle_after": "1h"}`, "idle_after"},
		{"no such time", `{"name": "a", "when_idle": [{"lever": "mask"}], "idle_after": "soon"}`, `"soon"`},
		{"negative time", `{"name": "a", "at_red": [{"lever": "mask"}], "idle_after": "-1h"}`, "idle_after is -1h"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if p, err := policy.Parse([]byte(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v and error %v, want an error with %s", p, err, tt.want)
			}
		})
	}
}

func TestCheckBudget(t *testing.T) {
	for want, b := range map[string]fold.Budget{
		"a window of -5 tokens":             {Window: -5},
		"red at 300% is not within":         {Red: fold.Share(3)},
		"target at -1 is not within":        {Target: fold.Tokens(-1)},
		"output at -50% is not within the ": {Output: fold.Share(-0.5)},
	} {
		p := fold.Policy{Name: "a", Budget: b, AtRed: fold.Steps{lever.Nothing{}}}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// every is a lever that package lever does not have.
type every struct {
	Nth int `json:"nth"`
}

func (every) Name() string                            { return "every" }
func (every) Pull(context.Context, *fold.Draft) error { return nil }

func TestParseOwnLever(t *testing.T) {
	file := []byte(
		`{"name": "mine", "at_red": [{"lever": "every", "nth": 2}, {"lever": "mask", "keep": 3}, {"lever": "every"}]}`,
	)
	got, err := policy.Parse(append([]byte("\ufeff"), file...), every{Nth: 10})
	must(t, err)
	want := fold.Steps{every{2}, lever.Mask{Keep: 3}, every{10}} // what the file leaves out is as passed in
	difftest.Equal(t, want, got.AtRed)
	if _, err := policy.Parse(file, every{}, every{}); err == nil || !strings.Contains(err.Error(), `called "every"`) {
		t.Errorf("two levers of one name: %v", err)
	}
	renamed := []byte(`{"name": "mine", "at_red": [{"lever": "first", "called": "second"}]}`)
	if p, err := policy.Parse(renamed, titled{"first"}); err == nil || !strings.Contains(err.Error(), `it is called "second"`) {
		t.Errorf("a name that settings change: %+v, %v", p.AtRed, err)
	}
	if _, err := policy.Parse([]byte(`{"name": "mine", "at_red": [{"lever": "bare"}]}`), bare("x")); err == nil ||
		!strings.Contains(err.Error(), "bare is no struct") {
		t.Errorf("a lever that is no struct: %v", err)
	}
	if _, err := policy.Parse(file); err == nil || !strings.Contains(err.Error(), `no lever "every"`) {
		t.Errorf("not passed in: %v", err)
	}
}

// bare is a lever without settings.
type bare string

func (bare) Name() string                            { return "bare" }
func (bare) Pull(context.Context, *fold.Draft) error { return nil }

// titled is a lever whose name is a setting.
type titled struct {
	Called string `json:"called"`
}

func (t titled) Name() string                          { return t.Called }
func (titled) Pull(context.Context, *fold.Draft) error { return nil }

// shared is a lever with settings behind pointers.
type shared struct {
	Nth   int            `json:"nth"`
	Tools map[string]int `json:"tools"`
	Names []string       `json:"names"`
	Seen  *[]string      `json:"-"`
}

func (*shared) Name() string                            { return "shared" }
func (*shared) Pull(context.Context, *fold.Draft) error { return nil }

// TestParsePointers: every step is a lever of its own, also where levers are pointers or hold some.
func TestParsePointers(t *testing.T) {
	file := []byte(`{"name": "mine", "at_red": [
		{"lever": "shared", "nth": 2, "tools": {"bash": 1}, "names": ["x"]}, {"lever": "shared", "tools": {"grep": 2}}]}`)
	passed := func() *shared {
		return &shared{Nth: 10, Tools: map[string]int{"read": 3}, Names: []string{"a", "b"}, Seen: new([]string)}
	}
	own := passed()
	got, err := policy.Parse(file, own)
	must(t, err)
	if _, err := policy.Parse(bytes.ReplaceAll(file, []byte("bash"), []byte("edit")), own); err != nil {
		t.Fatal(err)
	}
	want := fold.Steps{
		&shared{2, map[string]int{"read": 3, "bash": 1}, []string{"x"}, own.Seen},
		&shared{10, map[string]int{"read": 3, "grep": 2}, []string{"a", "b"}, own.Seen},
	}
	difftest.Equal(t, want, got.AtRed)
	difftest.Equal(t, passed(), own, "the lever that was passed in")
	for _, l := range []fold.Lever{nil, (*shared)(nil)} {
		if _, err := policy.Parse(file, l); err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("a lever that is nil: %v", err)
		}
	}
}

// levering is a lever with a setting that has the name of what is no setting.
type levering struct {
	every
	Lever string `json:"lever,omitempty"`
}

// TestSettingLever: in a file "lever" is the name of a lever, so a setting cannot be called so.
func TestSettingLever(t *testing.T) {
	for l, want := range map[fold.Lever]string{
		levering{Lever: "a"}: `lever "every": a setting is called "lever"`, called("mine"): "no JSON object",
	} {
		out, err := policy.Format(fold.Policy{Name: "mine", AtRed: fold.Steps{l}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Format: %v, want %q:\n%s", err, want, out)
		}
	}
}

// FuzzParse: parsing never panics, and what parses is written as something that parses to
// the same.
func FuzzParse(f *testing.F) {
	for _, p := range policy.All() {
		data, err := policy.Format(p)
		must(f, err)
		f.Add(data)
	}
	f.Add(
		[]byte(
			`{"name": "a", "budget": {"red": "12.3456789%", "target": 0.5, "output": "1e3"}, "at_red": [{"lever": "mask"}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := policy.Parse(data)
		if err != nil {
			return
		}
		first, err := policy.Format(p)
		if err != nil {
			t.Fatalf("%q parses but cannot be written: %v", data, err)
		}
		p, err = policy.Parse(first)
		if err != nil {
			t.Fatalf("%q was written as\n%s\nwhich does not parse: %v", data, first, err)
		}
		if second, err := policy.Format(p); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v: %s\nwas read as\n%s", err, first, second)
		}
	})
}

// TestFormatNil writes a policy with a step that is nil, which Check refuses too, and lists its names.
func TestFormatNil(t *testing.T) {
	p := policy.Default()
	p.EveryTurn = fold.Steps{nil}
	if out, err := policy.Format(p); err == nil || !strings.Contains(err.Error(), "step 1") {
		t.Errorf("%v: %s", err, out)
	}
	p.EveryTurn = fold.Steps{lever.Aim{}, nil, (*lever.Mask)(nil)}
	difftest.Equal(t, []string{"aim", "nil", "nil"}, p.EveryTurn.Names(), "names")
}

// called is a lever with any name.
type called string

func (n called) Name() string                          { return string(n) }
func (called) Pull(context.Context, *fold.Draft) error { return nil }

// TestCheckNames: a lever has a name, and none of pleat's own.
func TestCheckNames(t *testing.T) {
	for l, want := range map[fold.Lever]string{
		called(""): "has no name", called("mask"): "has the name of one of pleat's own", called("mine"): "",
		&lever.Aim{}: "",
	} {
		p := fold.Policy{Name: "a", AtRed: fold.Steps{l}}
		if err := p.Check(lever.All()...); (err == nil) != (want == "") ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", l.Name(), err, want)
		}
	}
}

// asking is a lever that asks for a digest in a way that makes no sense.
type asking struct{ called }

func (asking) Asks() fold.Ask         { return fold.Ask{Retries: -3} }
func (asking) Ahead(*fold.Draft, int) {}

// TestCheckAsks: how a lever asks is checked, too.
func TestCheckAsks(t *testing.T) {
	p := fold.Policy{Name: "a", AtRed: fold.Steps{asking{"mine"}}}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("-3 retries: %v", err)
	}
}

// aSetting is a number or a level in a policy file, or the place for one in a lever or a budget.
var aSetting = regexp.MustCompile(
	`: *(-?[0-9][0-9.e+]*|"[0-9]+%?")|("lever": "[a-z_]+"|"budget": \{|"restore": \{|"ask": \{|"tools": \{)()`,
)

// hostilePolicy puts another number in place of one in a policy file, or adds one.
func hostilePolicy(file string, r *rand.Rand) string {
	numbers := []string{
		"-1", "-9223372036854775808", "9223372036854775807", "4611686018427387904", "2147483648", "-2147483649", "0",
		"1", "7", "100", "99999", `"-1"`, `"NaN"`, `"NaN%"`, `"Inf"`, `"100%"`, `"0.0001%"`, `"1e18"`, `"9e9"`,
	}
	lever := strings.Fields(
		"rounds keep tokens words min files typed injected above head tail chars message preview window")
	names := map[string][]string{
		"budget":  strings.Fields("window output buffer yellow red target"),
		"restore": strings.Fields("files per_file total"),
		"ask":     strings.Fields("source retries breaker"),
		"tools":   {"read_file", "bash"},
	}
	for range 1 + r.IntN(3) {
		at := aSetting.FindAllStringSubmatchIndex(file, -1)
		m := at[r.IntN(len(at))]
		n := numbers[r.IntN(len(numbers))]
		if m[2] >= 0 {
			file = file[:m[2]] + n + file[m[3]:]
			continue
		}
		add := fmt.Sprintf(", %q: %s", lever[r.IntN(len(lever))], n)
		if of := names[strings.Trim(file[m[4]:m[5]], `": {`)]; of != nil {
			add = fmt.Sprintf("%q: %s,", of[r.IntN(len(of))], n)
		}
		file = file[:m[5]] + add + file[m[5]:]
	}
	return file
}

// drive folds a conversation under a policy: as it grows, when asked, when refused.
func drive(t testing.TB, p fold.Policy, window int) {
	ctx := t.Context()
	s, err := pleat.OpenSession(ctx, store.NewMemory(), store.SessionKey{Session: "s"}, &pleat.Options{
		Policy: p, Budget: fold.Budget{Window: window},
		KeepFile: func(name string, _ []byte) (string, error) { return name, nil },
	})
	if err != nil {
		return
	}
	_ = s.Append(ctx, transcript.User("Find the limit in src/part1.go. Keep legacy/ as it is."))
	for i := range 6 {
		id := fmt.Sprint("c", i)
		_ = s.Append(
			ctx,
			transcript.Assistant(transcript.Call(id, "read_file", fmt.Sprintf(`{"path":"src/part%d.go"}`, i%3))),
			transcript.Results(transcript.Result(id,
				strings.Repeat(fmt.Sprintf("line of part %d\n", i), 100+300*(i%2)))),
		)
		if _, err := s.View(ctx, pleat.Turn{}); err != nil {
			break
		}
	}
	_, _ = s.Compact(ctx, "the limit")
	_, _ = s.Refused(ctx, &model.APIError{Kind: model.ErrorTooLong})
	_, _ = s.Resolve(ctx, inside.Of(s).CurrentView())
	_ = s.Report()
	_ = s.Close()
}

// policyFiles are the policies that come with pleat.
func policyFiles(t testing.TB) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, p := range policy.All() {
		file, err := policy.Format(p)
		must(t, err)
		files[p.Name] = string(file)
	}
	return files
}

// Whatever numbers a policy file has, it is refused, or sessions work under it.
func TestHostilePolicies(t *testing.T) {
	t.Parallel()
	each, used := 300, 0
	if testing.Short() {
		each = 3
	}
	for name, file := range policyFiles(t) {
		for seed := range uint64(each) {
			text := hostilePolicy(file, rand.New(rand.NewPCG(seed, 5)))
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s, seed %d: %v\n%s", name, seed, r, text)
					}
				}()
				if p, err := policy.Parse([]byte(text)); err == nil {
					used++
					drive(t, p, int(seed%4)*1_000)
				}
			}()
		}
	}
	t.Logf("%d were not refused", used)
}

// Numbers that no window has are refused when the file is read, not when they overflow.
func TestPolicyNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		`"budget": {"window": 4611686018427387904}`, `"budget": {"red": "NaN"}`, `"budget": {"red": "NaN%"}`,
		`"budget": {"output": "Inf"}`, `"budget": {"target": "1e300"}`, `"budget": {"window": -1}`,
		`"chars_per_token": 2147483648`, `"retries": 9223372036854775807`, `"retries": -1`,
		`"every_turn": [{"lever": "mask", "keep": 9223372036854775807}]`,
		`"every_turn": [{"lever": "mask", "keep": -1}]`,
		`"at_birth": [{"lever": "spill", "chars": 1, "tools": {"bash": -1}}]`,
		`"at_birth": [{"lever": "spill", "chars": 1, "tools": {"bash": 4611686018427387904}}]`,
		`"every_turn": [{"lever": "digest", "restore": {"total": 4611686018427387904}}]`,
		`"every_turn": [{"lever": "digest", "ask": {"retries": 4611686018427387904}}]`,
	} {
		if _, err := policy.Parse([]byte(`{"name": "x", "at_red": [{"lever": "squeeze"}], ` + bad + `}`)); err == nil ||
			strings.Contains(err.Error(), "unknown field") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := (fold.Budget{Window: 1 << 60}).Check(); err == nil {
		t.Error("a budget of so many tokens was taken")
	}
}

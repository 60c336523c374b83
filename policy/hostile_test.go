package policy_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/policy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

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

package sessionfile

import (
	"fmt"
	"os"
	"strings"

	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
)

// PolicyUsage is the help of --policy.
const PolicyUsage = "fold as `POLICY` says: a name that \"pleat policies\" lists, or a JSON file"

// PolicyNames lists the policies that come with pleat.
func PolicyNames() (names []string) {
	for _, p := range policy.All() {
		names = append(names, p.Name)
	}
	return names
}

// NamedPolicy finds a policy by name.
func NamedPolicy(name string) (fold.Policy, error) {
	p, err := policy.ByName(name)
	if err != nil {
		err = term.UsageError(err.Error() + term.DidYouMean("", name, PolicyNames()))
	}
	return p, err
}

// LoadPolicy finds a policy by name, or reads it from a file as "pleat policies NAME"
// prints it.
func LoadPolicy(name string) (fold.Policy, error) {
	if !strings.ContainsAny(name, `./\`) {
		return NamedPolicy(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fold.Policy{}, fmt.Errorf("read policy: %w", err)
	}
	p, err := policy.Parse(data)
	if err != nil {
		return p, fmt.Errorf("file %s: %w", name, err)
	}
	return p, nil
}

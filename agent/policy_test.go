package agent_test

import (
	"testing"

	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/policy"
)

func named(t testing.TB, name string) fold.Policy {
	t.Helper()
	p, err := policy.ByName(name)
	must(t, err)
	return p
}

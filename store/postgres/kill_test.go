//go:build unix

package postgres_test

import (
	"context"
	"testing"

	"github.com/pleat-dev/pleat/internal/killtest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

func openURL(ctx context.Context, url string) (store.Store, error) {
	return postgres.Open(ctx, url, nil)
}

func TestKill(t *testing.T) {
	killtest.Test(t, openURL, func() string { return pgtest.Shared(t).Database(t) })
}

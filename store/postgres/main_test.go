//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/internal/killtest"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if killtest.Played(openURL) {
		os.Exit(0)
	}
	status := m.Run()
	pgtest.RemoveShared()
	os.Exit(status)
}

// open opens a store and closes it with the test.
func open(t testing.TB, url string, opts *postgres.Options) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, opts)
	must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// connect connects to the database of a URL, past any store.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func put(t testing.TB, st store.Store, key store.SessionKey, last uint64, entries ...store.Entry) {
	t.Helper()
	if _, err := st.Append(t.Context(), key, last, entries...); err != nil {
		t.Fatal(err)
	}
}

// must ends the test if something on its way failed.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a statement in the database of a URL.
func run(t testing.TB, url, text string, args ...any) {
	t.Helper()
	must(t, tryRun(t, url, text, args...))
}

func tryRun(t testing.TB, url, text string, args ...any) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), text, args...)
	return err
}

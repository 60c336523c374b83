// Package pgtest starts throw-away PostgreSQL servers on loopback for tests, from the
// binaries that are on the machine. Where there are none the tests skip, and say so.
//
//	func TestMain(m *testing.M) {
//		status := m.Run()
//		pgtest.RemoveShared()
//		os.Exit(status)
//	}
//
//	func TestSomething(t *testing.T) {
//		url := pgtest.Shared(t).Database(t)
//		…
//	}
package pgtest

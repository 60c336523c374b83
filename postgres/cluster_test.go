//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat/postgres"
)

// cluster is a throw-away PostgreSQL server on loopback.
type cluster struct {
	bin, dir  string
	port      int
	fileLimit int // largest size of a file, in bytes; 0: none
	cred      *syscall.SysProcAttr
	server    *exec.Cmd
	ended     chan struct{}
}

// The tests share one cluster, started by the first that needs it and removed by
// TestMain. Tests that kill the server start their own.
var shared struct {
	sync.Once
	*cluster
	err error
	dbs int
	mu  sync.Mutex
}

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := m.Run()
	if shared.cluster != nil {
		shared.remove()
	}
	os.Exit(status)
}

// binaries finds the folder with initdb and postgres.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "postgres")); err == nil {
				return filepath.Dir(path), nil
			}
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if more, _ := filepath.Glob("/usr/local/opt/postgresql*/bin/initdb"); len(found) == 0 {
		found = more
	}
	if len(found) == 0 {
		return "", errors.New("there is no PostgreSQL on this machine: no initdb in PATH or /usr/lib/postgresql/*/bin (on Debian: apt-get install postgresql)")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// create makes the cluster and starts it. As root it runs the server as somebody else,
// since PostgreSQL refuses to run as root.
func (c *cluster) create() (err error) {
	defer func() {
		if err != nil {
			c.remove()
		}
	}()
	if c.bin, err = binaries(); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "pleat-postgres-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if c.cred, err = unprivileged(c.dir); err != nil {
			return err
		}
	}
	if c.port, err = freePort(); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(c.bin, "initdb"), "-D", c.data(), "-U", "pleat", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums")
	initdb.SysProcAttr, initdb.Dir = c.cred, c.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = ''\n", c.port)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return c.start()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) url(database string) string {
	return fmt.Sprintf("postgres://pleat@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// start starts the server and waits until it answers.
func (c *cluster) start() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c.server = exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data())
	if c.fileLimit > 0 { // the shell counts in blocks of 512 bytes
		c.server = exec.Command("sh", "-c", `ulimit -f "$0" && exec "$@"`, strconv.Itoa(c.fileLimit/512), c.server.Path, "-D", c.data())
	}
	c.server.SysProcAttr, c.server.Dir = c.cred, c.dir
	c.server.Stdout, c.server.Stderr = log, log
	if err := c.server.Start(); err != nil {
		return err
	}
	c.ended = make(chan struct{})
	go func(server *exec.Cmd, ended chan struct{}) {
		_ = server.Wait()
		close(ended)
	}(c.server, c.ended)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.ended:
			text, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			return fmt.Errorf("server ended:\n%s", text[max(0, len(text)-2000):])
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill ends the server and all its processes with SIGKILL, as a crash would. The
// postmaster is stopped first, so that it starts no more of them meanwhile.
func (c *cluster) kill() {
	postmaster := c.server.Process.Pid
	_ = syscall.Kill(postmaster, syscall.SIGSTOP)
	pids := children(postmaster)
	_ = syscall.Kill(postmaster, syscall.SIGKILL)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-c.ended
	for _, pid := range pids { // until they are gone, their memory is in use
		for alive(pid) {
			time.Sleep(time.Millisecond)
		}
	}
	_ = os.Remove(filepath.Join(c.data(), "postmaster.pid"))
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	return len(fields) > 0 && fields[0] != "Z" && fields[0] != "X"
}

// children lists the processes of a server. Where that cannot be found out, they end by
// themselves when they notice that the postmaster is gone.
func children(parent int) []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// remove stops the server and deletes everything.
func (c *cluster) remove() {
	if c.server != nil {
		c.kill()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// exec runs a statement in a connection of its own.
func (c *cluster) exec(ctx context.Context, database, text string, args ...any) error {
	conn, err := pgx.Connect(ctx, c.url(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, text, args...)
	return err
}

// theCluster is the shared cluster; without PostgreSQL the test is skipped.
func theCluster(t testing.TB) *cluster {
	t.Helper()
	skipWithout(t)
	shared.Do(func() {
		c := new(cluster)
		if shared.err = c.create(); shared.err == nil {
			shared.cluster = c
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// ownCluster is one for this test alone, to be mistreated.
func ownCluster(t testing.TB, fileLimit int) *cluster {
	t.Helper()
	skipWithout(t)
	c := &cluster{fileLimit: fileLimit}
	if err := c.create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remove)
	return c
}

func skipWithout(t testing.TB) {
	t.Helper()
	if _, err := binaries(); err != nil {
		t.Skip(err)
	}
}

// database makes a new database in the cluster and returns its URL.
func database(t testing.TB, c *cluster) string {
	t.Helper()
	shared.mu.Lock()
	shared.dbs++
	name := fmt.Sprintf("test%d", shared.dbs)
	shared.mu.Unlock()
	if err := c.exec(t.Context(), "postgres", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return c.url(name)
}

// open opens a store and closes it with the test.
func open(t testing.TB, url string, opts *postgres.Options) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// run runs a statement in the database of a URL.
func run(t testing.TB, url, text string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
}

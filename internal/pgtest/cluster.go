//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Cluster is a throw-away PostgreSQL server.
type Cluster struct {
	bin, dir  string
	port      int
	fileLimit int // largest size of a file, in bytes; 0: none
	cred      *syscall.SysProcAttr
	server    *exec.Cmd
	ended     chan struct{}
	databases atomic.Int32
}

// The tests of a package share one cluster, started by the first that needs it. Tests
// that kill the server start their own.
var shared struct {
	sync.Once
	*Cluster
	err error
}

// Shared is the cluster that the tests of a package share. Without PostgreSQL the test
// is skipped.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	skipWithout(t)
	shared.Do(func() {
		c := new(Cluster)
		if shared.err = c.create(); shared.err == nil {
			shared.Cluster = c
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.Cluster
}

// RemoveShared stops the shared cluster and deletes it, for the end of TestMain.
func RemoveShared() {
	if shared.Cluster != nil {
		shared.remove()
	}
}

// Own is a cluster for this test alone, which may kill it. The server's files can grow
// to fileLimit bytes each; 0 means without limit.
func Own(t testing.TB, fileLimit int) *Cluster {
	t.Helper()
	skipWithout(t)
	c := &Cluster{fileLimit: fileLimit}
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

// Database makes a new database in the cluster and returns its URL.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	createdb := exec.CommandContext(t.Context(), filepath.Join(c.bin, "createdb"), "--maintenance-db",
		c.URL("postgres"), name)
	if out, err := createdb.CombinedOutput(); err != nil {
		t.Fatalf("createdb: %v\n%s", err, out)
	}
	return c.URL(name)
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
	for _, folders := range []string{"/usr/lib/postgresql/*/bin", "/usr/local/opt/postgresql*/bin"} {
		if found, _ := filepath.Glob(filepath.Join(folders, "initdb")); len(found) > 0 {
			return filepath.Dir(slices.Max(found)), nil
		}
	}
	return "", errors.New("there is no PostgreSQL on this machine: no initdb in PATH or /usr/lib/postgresql/*/bin " +
		"(on Debian: apt-get install postgresql)")
}

// create makes the cluster and starts it. As root it runs the server as another user, since
// PostgreSQL refuses to run as root.
func (c *Cluster) create() (err error) {
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
	if c.port, err = FreePort(); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(c.bin, "initdb"), "-D", c.data(), "-U", "pleat", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--data-checksums")
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
	return c.Start()
}

// FreePort returns a loopback port at which nobody listens.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Port is where the server listens on loopback.
func (c *Cluster) Port() int { return c.port }

// URL names a database of the cluster.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://pleat@127.0.0.1:%d/%s?sslmode=disable", c.port, database)
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start() error {
	log, err := os.OpenFile(filepath.Join(c.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c.server = exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data())
	if c.fileLimit > 0 { // the shell counts in blocks of 512 bytes
		limit := strconv.Itoa(c.fileLimit / 512)
		c.server = exec.Command("sh", "-c", `ulimit -f "$0" && exec "$@"`, limit, c.server.Path, "-D", c.data())
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
		ready := exec.CommandContext(ctx, filepath.Join(c.bin, "pg_isready"), "--quiet", "--dbname", c.URL("postgres"))
		err := ready.Run()
		if err == nil {
			return nil
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

// Kill ends the server and all its processes at once, in the middle of what they do. The next start recovers, as
// after a crash.
func (c *Cluster) Kill() {
	_ = c.server.Process.Signal(syscall.SIGQUIT)
	<-c.ended
}

// remove stops the server and deletes everything.
func (c *Cluster) remove() {
	if c.server != nil {
		c.Kill()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// unprivileged finds a user to run the server as, and gives that user the folder.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("no user to run PostgreSQL as: it refuses to run as root")
}

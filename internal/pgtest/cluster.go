//go:build unix

package pgtest

import (
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
)

// Cluster is a throw-away PostgreSQL server.
type Cluster struct {
	bin, dir  string
	port      int
	fileLimit int // largest size of a file, in bytes; 0: none
	cred      *syscall.SysProcAttr
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
	if err := c.run("createdb", "--maintenance-db", c.URL("postgres"), name); err != nil {
		t.Fatal(err)
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
	if err := c.run("initdb", "-D", c.data(), "-U", "pleat", "-A", "trust", "-E", "UTF8", "--locale=C",
		"--data-checksums"); err != nil {
		return err
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

// run runs one of PostgreSQL's programs to its end.
func (c *Cluster) run(program string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	if c.fileLimit > 0 { // the shell counts in blocks of 512 bytes
		limit := []string{"-c", `ulimit -f "$0" && exec "$@"`, strconv.Itoa(c.fileLimit / 512), cmd.Path}
		cmd = exec.Command("sh", append(limit, args...)...)
	}
	cmd.SysProcAttr, cmd.Dir = c.cred, c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start() error {
	log := filepath.Join(c.dir, "log")
	err := c.run("pg_ctl", "start", "--wait", "--silent", "-D", c.data(), "-l", log)
	if err != nil {
		text, _ := os.ReadFile(log)
		err = fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
	}
	return err
}

// Kill ends the server and all its processes at once, in the middle of what they do. The next start recovers, as
// after a crash.
func (c *Cluster) Kill() { _ = c.run("pg_ctl", "stop", "--mode", "immediate", "-D", c.data()) }

// remove stops the server and deletes everything.
func (c *Cluster) remove() {
	if c.dir != "" {
		c.Kill()
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

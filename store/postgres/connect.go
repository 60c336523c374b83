package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	defaultConns   = 8
	connectTimeout = 5 * time.Second
	leastVersion   = 130000 // pg_xact_status over 64-bit numbers
)

// poolConfig reads the URL and adds the settings that the promises need. Its errors never
// quote the URL, which may have a password.
func poolConfig(text string, opts Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(text)
	if err != nil || misread(text) {
		return nil, errors.New("the URL is not one of a PostgreSQL database; it should look like " +
			"postgres://user:password@host:5432/database, with special characters of the password as %XX " +
			"(an at sign is %40)")
	}
	if !strings.Contains(text, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	params := config.ConnConfig.RuntimeParams
	if params["synchronous_commit"] == "off" {
		return nil, errors.New("the URL sets synchronous_commit=off, with which a commit can be lost")
	}
	for name, value := range map[string]string{
		"application_name":   "pleat",
		"synchronous_commit": "on",
		"statement_timeout":  millis(opts.StatementTimeout),
		"lock_timeout":       millis(opts.StatementTimeout / 2),
		// A process that dies with a transaction open must not keep its locks for long.
		"idle_in_transaction_session_timeout": millis(2 * opts.StatementTimeout),
		"tcp_keepalives_idle":                 "30",
		"tcp_keepalives_interval":             "10",
		"tcp_keepalives_count":                "3",
		// Every statement finds its rows by an index. A plan made while a table was
		// small must not scan the whole table when it is large.
		"enable_seqscan":                "off",
		"jit":                           "off",
		"default_transaction_isolation": "read committed",
		"default_transaction_read_only": strconv.FormatBool(opts.ReadOnly),
	} {
		params[name] = cmp.Or(params[name], value)
	}
	return config, nil
}

// misread reports whether a part of a URL's password would be taken for the host or the database, looked
// up and shown: it has a slash, a question mark, a # or an @ before its last @, or // is missing.
func misread(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok || !strings.EqualFold(scheme, "postgres") && !strings.EqualFold(scheme, "postgresql") {
		return false
	}
	rest, ok = strings.CutPrefix(rest, "//")
	server, behind := rest, ""
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		server, behind = rest[:at], rest[at:]
	}
	database, _, _ := strings.Cut(behind, "?")
	return !ok || strings.Count(server, "@") > 1 || strings.Contains(database, "@") ||
		strings.Contains(server, ":") && strings.Contains(behind, "@")
}

func millis(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }

// storeName names the store in messages: host and database, nothing secret.
func storeName(c *pgx.ConnConfig) string {
	host := c.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	return host + "/" + url.PathEscape(c.Database)
}

// prepare checks that the server can keep the promises, and that the tables exist.
func (s *Store) prepare(ctx context.Context) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	settings := make(map[string]string)
	for _, name := range []string{
		"server_version_num", "server_encoding", "synchronous_commit", "fsync", "full_page_writes", "data_checksums",
	} {
		var value string
		if err := conn.QueryRow(ctx, "SELECT current_setting($1)", name).Scan(&value); err != nil {
			return err
		}
		settings[name] = value
	}
	if version, _ := strconv.Atoi(settings["server_version_num"]); version < leastVersion {
		return fmt.Errorf("the server has version %d, at least %d is needed", version/10000, leastVersion/10000)
	}
	if settings["server_encoding"] != "UTF8" {
		return fmt.Errorf("the database has encoding %s; make one with ENCODING 'UTF8'", settings["server_encoding"])
	}
	if settings["synchronous_commit"] == "off" {
		return errors.New("the server has synchronous_commit off, with which a commit can be lost")
	}
	for name, what := range map[string]string{
		"fsync":            "a crash of the server's machine can lose everything",
		"full_page_writes": "a crash of the server's machine can damage everything",
		"data_checksums":   "damage to an index is not noticed",
	} {
		if settings[name] == "off" {
			s.base.Log.Warn("server has " + name + " off: " + what)
		}
	}
	return s.prepareTables(ctx, conn.Conn())
}

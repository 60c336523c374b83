//go:build unix

package postgres_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/internal/inside"

	"github.com/jackc/pgx/v5"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/pgtest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/postgres"
	"github.com/pleat-dev/pleat/tokens"
	"github.com/pleat-dev/pleat/transcript"
)

// loadFigures is what one process of the load test reports, in microseconds.
type loadFigures struct {
	Appends, Views  []int64
	Entries, Epochs int
}

// load runs sessions of the engine for some seconds: each appends a turn (a call and its
// result of 4 KB, and the mark by which a proxy would find the conversation again) and
// makes the view for the next request, and does that once per pace.
func load(url, name, sessions, seconds, pause string) error {
	count, _ := strconv.Atoi(sessions)
	millis, _ := strconv.Atoi(pause)
	pace := time.Duration(millis) * time.Millisecond
	limit, _ := strconv.Atoi(seconds)
	ctx := context.Background()
	st, err := postgres.Open(ctx, url, &postgres.Options{PoolTimeout: time.Minute})
	if err != nil {
		return err
	}
	defer st.Close()
	begin := time.Now()
	end := begin.Add(time.Duration(limit) * time.Second)
	var mu sync.Mutex
	var all loadFigures
	errs := make(chan error, count)
	var wg sync.WaitGroup
	for n := range count {
		wg.Go(func() {
			mine, err := loadSession(ctx, st,
				store.SessionKey{Tenant: fmt.Sprint("t", n%10), Session: fmt.Sprint(name, n)},
				begin.Add(pace*time.Duration(n)/time.Duration(count)), end, pace)
			if err != nil {
				errs <- err
			}
			mu.Lock()
			defer mu.Unlock()
			all.Appends, all.Views = append(all.Appends, mine.Appends...), append(all.Views, mine.Views...)
			all.Entries += mine.Entries
			all.Epochs += mine.Epochs
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// loadOptions are those of a small window, so that sessions fold during the test. Tokens
// are estimated: counting them is not the store's time.
func loadOptions() *pleat.Options {
	return &pleat.Options{
		Budget: fold.Budget{Window: 8_000},
		Tokens: tokens.NewTokenizer(model.Model{}, &tokens.Options{Counter: tokens.CharsPerToken(4), CacheSize: -1}),
	}
}

func loadSession(
	ctx context.Context,
	store *postgres.Store,
	key store.SessionKey,
	next, end time.Time,
	pace time.Duration,
) (f loadFigures, err error) {
	seed := transcript.HashOf(key.String())
	random := rand.New(rand.NewPCG(1, binary.BigEndian.Uint64(seed[:])))
	time.Sleep(time.Until(next))
	s, err := pleat.OpenSession(ctx, store, key, loadOptions())
	if err != nil {
		return f, err
	}
	if err := s.Append(ctx, transcript.User("Find the limit.")); err != nil {
		return f, err
	}
	for turn := 0; time.Now().Before(end) && next.Before(end); turn++ {
		time.Sleep(time.Until(next))
		id := fmt.Sprintf("call_%d", turn)
		before := time.Now()
		err := s.Append(
			ctx,
			transcript.Assistant(transcript.Call(id, "read_file", `{"path":"src/`+id+`.go"}`)),
			transcript.Results(transcript.Result(id, string(prose(random, 4<<10)))),
		)
		if err == nil {
			_, err = inside.Of(s).Mark(ctx, []string{transcript.HashOf(fmt.Sprint(key, turn)).String()}, nil)
		}
		if err != nil {
			return f, err
		}
		f.Appends = append(f.Appends, time.Since(before).Microseconds())
		before = time.Now()
		v, err := s.View(ctx, pleat.Turn{})
		if err == nil {
			_, err = s.Resolve(ctx, v)
		}
		if err != nil {
			return f, err
		}
		f.Views = append(f.Views, time.Since(before).Microseconds())
		next = next.Add(pace)
	}
	f.Entries, f.Epochs = int(inside.Of(s).LastSeq()), len(s.Report().Epochs)
	return f, nil
}

// TestLoad runs 1,000 sessions of the engine over 4 processes for PLEAT_LOAD seconds, each
// with a turn every PLEAT_PACE milliseconds (2,000 unless told; 0: as fast as it goes), and
// prints figures. Without PLEAT_LOAD it is 100 sessions for two seconds.
func TestLoad(t *testing.T) {
	seconds, pace := cmp.Or(os.Getenv("PLEAT_LOAD"), "2"), cmp.Or(os.Getenv("PLEAT_PACE"), "2000")
	const processes = 4
	sessions := 1000
	if os.Getenv("PLEAT_LOAD") == "" {
		sessions = 100 // a look at whether it works
	}
	url := pgtest.Shared(t).Database(t)
	open(t, url, nil)
	outputs := make([]bytes.Buffer, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd := startChild(t, "load", url, fmt.Sprintf("p%d-", i), strconv.Itoa(sessions/processes), seconds, pace)
		cmd.Stdout, cmd.Stderr = &outputs[i], os.Stderr
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	conn := connect(t, url)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	conns, most := 0, 0
	for running := true; running; {
		const others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
		must(t, conn.QueryRow(t.Context(), others).Scan(&conns))
		most = max(most, conns)
		select {
		case <-done:
			running = false
		case <-time.After(100 * time.Millisecond):
		}
	}
	var all loadFigures
	for i := range outputs {
		var one loadFigures
		must(t, json.Unmarshal(outputs[i].Bytes(), &one))
		all.Appends, all.Views, all.Entries = append(
			all.Appends,
			one.Appends...), append(
			all.Views,
			one.Views...), all.Entries+one.Entries
		all.Epochs += one.Epochs
	}
	var entries, size int64
	const sizes = "SELECT (SELECT count(*) FROM pleat.entry), pg_database_size(current_database())"
	must(t, conn.QueryRow(t.Context(), sizes).Scan(&entries, &size))
	logSizes(t, conn)
	if entries != int64(all.Entries) {
		t.Errorf("%d entries are there, %d were acknowledged", entries, all.Entries)
	}
	slices.Sort(all.Appends)
	slices.Sort(all.Views)
	at := func(list []int64, p int) time.Duration {
		return time.Duration(list[min(len(list)*p/100, len(list)-1)]) * time.Microsecond
	}
	t.Logf(
		"%s s, a turn every %s ms, %d sessions: %d appends (p50 %v, p99 %v), %d views (p50 %v, p99 %v), %d epochs, %d "+
			"connections, %d entries, %d MB; load average %s",
		seconds,
		pace,
		sessions,
		len(all.Appends),
		at(all.Appends, 50),
		at(all.Appends, 99),
		len(all.Views),
		at(all.Views, 50),
		at(all.Views, 99),
		all.Epochs,
		most,
		entries,
		size>>20,
		loadAverage(),
	)
}

// loadAverage says how busy the machine is: the figures mean little without it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// logSizes prints what a row of each table costs, with its share of the indexes.
func logSizes(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	for _, table := range []string{"session", "entry", "blob", "text", "place"} {
		var rows, heap, toast, indexes int64
		err := conn.QueryRow(t.Context(), fmt.Sprintf(`SELECT (SELECT count(*) FROM %[1]s), pg_relation_size('%[1]s'),
			pg_table_size('%[1]s') - pg_relation_size('%[1]s'), pg_indexes_size('%[1]s')`, "pleat."+table)).Scan(&rows, &heap, &toast, &indexes)
		must(t, err)
		if rows > 0 {
			t.Logf("%s: %d rows of %d bytes, %d out of line, %d of indexes", table, rows, heap/rows,
				toast/rows, indexes/rows)
		}
	}
}

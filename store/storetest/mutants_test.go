package storetest_test

import (
	"cmp"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

// mutants are stores with a fault, each with the clause that must find it.
var mutants = map[string]*fault{
	"local time":              {clause: "times", yielded: local},
	"local time after reopen": {clause: "append and scan", late: true, yielded: local},
	"local time found":        {clause: "find", late: true, yielded: local},
	"time to the second": {
		clause: "times", yielded: func(e *store.Entry) { e.Time = e.Time.Truncate(time.Second) },
	},
	"data lost":               {clause: "append and scan", late: true, yielded: func(e *store.Entry) { e.Data = nil }},
	"numbers from 0":          {clause: "append and scan", yielded: func(e *store.Entry) { e.Seq-- }},
	"body cut":                {clause: "bodies", body: func(b []byte) []byte { return b[:len(b)/2] }},
	"body cut after reopen":   {clause: "append and scan", late: true, body: func(b []byte) []byte { return b[:len(b)/2] }},
	"body's bytes used again": {clause: "bodies", body: usedAgain()},
	"data's bytes used again": {clause: "append and scan", yielded: func() func(e *store.Entry) {
		again := usedAgain()
		return func(e *store.Entry) { e.Data = again(e.Data) }
	}()},
	"one page scanned":     {clause: "append and scan", most: 1_000},
	"large data cut":       {clause: "big body", stored: cutData},
	"hit begins one early": {clause: "search places", hit: func(h *store.Hit) { h.Start-- }},
	"hit begins one late":  {clause: "search places", hit: func(h *store.Hit) { h.Start++ }},
	"hit ends early":       {clause: "search places", hit: func(h *store.Hit) { h.End -= 2 }},

	"half appended":            {clause: "append and scan", stored: half},
	"half appended, by second": {clause: "opened twice", late: true, stored: half},
	"nothing appended, second": {clause: "opened twice, many writers", late: true, stored: none},
	"tenants mixed":            {clause: "isolation", looked: oneTenant},
	"second reads elsewhere":   {clause: "opened twice", late: true, looked: elsewhere},

	"closed, and nothing there": {clause: "close", silent: true},
	"kind ignored":              {clause: "find", anyKind: true},
	"kind ignored after reopen": {clause: "find", late: true, anyKind: true},
	"newest by session":         {clause: "find", late: true, order: bySession},
	"newest by session, down":   {clause: "find", late: true, order: bySessionDown},
	"newest by number":          {clause: "find", late: true, order: byNumber},
	"newest by time":            {clause: "find", late: true, order: byTime},
	"older found by second":     {clause: "opened twice", late: true, order: bySessionDown},

	"labels made valid":               {clause: "odd bytes", yielded: validLabel},
	"labels made valid after reopen":  {clause: "odd bytes", late: true, yielded: validLabel},
	"sessions made valid when listed": {clause: "odd bytes", late: true, infos: validNames},
	"sessions read by valid names":    {clause: "odd bytes", late: true, looked: validName},
	"sessions in another order":       {clause: "sessions", late: true, infos: backward},

	"given to two":              {clause: "claim", late: true, claimed: true},
	"given to two processes":    {clause: "opened twice, many writers", late: true, claimed: true},
	"not forgotten":             {clause: "forget", kept: true},
	"not forgotten by a second": {clause: "opened twice", late: true, kept: true},
	"damage not seen":           {clause: "damaged entry", trusted: true},
	"damage not verified":       {clause: "damaged entry", blind: true},
	"damaged body given":        {clause: "damaged body", trusted: true},
	"damaged body not verified": {clause: "damaged body", blind: true},
	"damaged body relied on":    {clause: "damaged body", rotten: true},
	"older than damaged found":  {clause: "damaged label", older: true},
	"damaged entry hides all":   {clause: "damaged label", hides: true},

	"sessions in another order, one deleted": {clause: "forget, then append", after: true, infos: backward},
	"newest by number, one deleted":          {clause: "forget, then append", after: true, order: byNumber},
	"newest by session, one deleted":         {clause: "forget, then append", after: true, order: bySession},
	"forks without bytes":                    {clause: "fork", infos: noBytes},
	"forks as old as their originals":        {clause: "fork", infos: backward},
}

// usedAgain returns what it is given in the same bytes each time.
func usedAgain() func([]byte) []byte {
	var buf []byte
	return func(b []byte) []byte {
		buf = append(buf[:0], b...)
		return buf
	}
}

func local(e *store.Entry) { e.Time = e.Time.In(time.Local) }

func half(entries []store.Entry) []store.Entry { return entries[:(len(entries)+1)/2] }

func cutData(entries []store.Entry) []store.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Data = entries[i].Data[:min(len(entries[i].Data), 1<<20)]
	}
	return entries
}

func none([]store.Entry) []store.Entry { return nil }

func oneTenant(key store.SessionKey) store.SessionKey {
	if strings.HasSuffix(key.Tenant, "B") {
		key.Tenant = strings.TrimSuffix(key.Tenant, "B") + "A"
	}
	return key
}

func elsewhere(key store.SessionKey) store.SessionKey {
	key.Session += "elsewhere"
	return key
}

func bySession(a, b store.Found) int {
	return cmp.Or(strings.Compare(a.Key.Session, b.Key.Session), byNumber(a, b))
}

func bySessionDown(a, b store.Found) int { return bySession(b, a) }

func byNumber(a, b store.Found) int { return cmp.Compare(a.Entry.Seq, b.Entry.Seq) }

func byTime(a, b store.Found) int { return a.Entry.Time.Compare(b.Entry.Time) }

func validLabel(e *store.Entry) { e.Label = strings.ToValidUTF8(e.Label, "\ufffd") }

func validName(key store.SessionKey) store.SessionKey {
	key.Session = strings.ToValidUTF8(key.Session, "\ufffd")
	return key
}

func validNames(infos []store.SessionInfo) []store.SessionInfo {
	for i := range infos {
		infos[i].Key = validName(infos[i].Key)
	}
	return infos
}

func noBytes(infos []store.SessionInfo) []store.SessionInfo {
	for i := range infos {
		infos[i].BodyBytes = 0
	}
	return infos
}

func backward(infos []store.SessionInfo) []store.SessionInfo {
	slices.Reverse(infos)
	return infos
}

var mutant = flag.String("mutant", "", "name of the mutant that TestMutant holds to the suite")

// TestMutant holds one mutant to the suite; [TestMutants] runs it and wants it to fail. Without a
// name the store has no fault.
func TestMutant(t *testing.T) {
	fault := cmp.Or(mutants[*mutant], right)
	open := func(d *disk, later bool) store.Store {
		d.handles++
		return &broken{disk: d, fault: fault, later: later}
	}
	another := func(_ *testing.T, st store.Store) store.Store { return open(st.(*broken).disk, true) }
	storetest.Test(t, func(*testing.T) store.Store { return open(&disk{Memory: store.NewMemory()}, false) },
		&storetest.Options{Another: another, Reopen: func(t *testing.T, st store.Store) store.Store {
			defer st.Close()
			return another(t, st)
		}, Spoil: func(_ *testing.T, st store.Store, key store.SessionKey, seq uint64, remove bool) {
			d := st.(*broken).disk
			d.spoiled = append(d.spoiled, spoiled{key, seq, remove})
		}, Damage: func(_ *testing.T, st store.Store, key store.SessionKey, body transcript.Hash) {
			d := st.(*broken).disk
			d.damaged = append(d.damaged, func() { d.damage(key, body) })
			d.damage(key, body)
		}})
}

func TestMutants(t *testing.T) {
	for name, f := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _ := exec.Command(os.Args[0], "-test.run", "^TestMutant$/^"+f.clause+"$",
				"-mutant", name).CombinedOutput()
			if !strings.Contains(string(out), "--- FAIL: TestMutant/"+strings.ReplaceAll(f.clause, " ", "_")) {
				t.Errorf("the suite's clause %q lets it pass:\n%s", f.clause, out)
			}
			if len(out) > 50_000 {
				t.Errorf("the suite says so in %d bytes, beginning with:\n%.2000s", len(out), out)
			}
		})
	}
}

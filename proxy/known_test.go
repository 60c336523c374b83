package proxy

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// What a client sends again is neither decoded nor hashed again, and gives the same hash
// chain; what is kept for that is bounded.
func TestKnown(t *testing.T) {
	rw := rewriterOf(t, &Options{Store: store.NewMemory()})
	body := func(talk, messages int) []byte {
		list := []string{fmt.Sprintf(`{"role":"user","content":"talk %d"}`, talk)}
		for i := range messages {
			list = append(list, fmt.Sprintf(`{"role":"user","content":"message %d %s"}`, i, strings.Repeat("x", 1000)))
		}
		return []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + `]}`)
	}
	for n := 1; n < 20; n++ {
		for talk := range likeliest {
			r, err := rw.read(messages, "", body(talk, n), takeAll)
			if err != nil {
				t.Fatal(err)
			}
			want := hashesIn(messages, body(talk, n))
			if len(r.prefixes) != n+1 || r.prefixes[n] != transcript.Chain(transcript.Hash{}, want)[n] {
				t.Fatalf("talk %d with %d messages: another hash chain", talk, n)
			}
		}
	}
	if n := rw.known.recent.Len(); n != likeliest {
		t.Errorf("%d requests are known of %d conversations", n, likeliest)
	}
	hashed := 0
	counting := *messages
	counting.hash = func(raw []byte) transcript.Hash {
		hashed++
		return messages.hash(raw)
	}
	must(rw.read(&counting, "", body(3, 30), takeAll))
	must(rw.read(&counting, "", bytes.Replace(body(3, 30), []byte("message 7 "), []byte("message X "), 1), takeAll))
	if hashed != 11+1 {
		t.Errorf("%d messages were hashed, want 11 that are new and 1 that has changed", hashed)
	}
	rw.known.limit = 140_000
	for talk := range 50 {
		must(rw.read(messages, fmt.Sprint("talk ", talk), body(talk, 20), takeAll))
	}
	if k := rw.known; k.size > k.limit || k.recent.Len() != 4 || len(k.by) != 4 {
		t.Errorf("%d bytes of %d requests are kept, limit %d", k.size, k.recent.Len(), k.limit)
	}
}

// A session does not keep the memory of the request that it was opened with.
func TestHeadIsOwn(t *testing.T) {
	for _, on := range protocols {
		a := newAgent(on, "", "Do all the steps.")
		body := a.body()
		req := must(on.read(body))
		system, tools := req.head()
		if len(tools) != 1 || tools[0] != req.tools[0] || system != req.system {
			t.Errorf("%s: %q, %v", on.format, system, tools)
		}
		first, last := uintptr(unsafe.Pointer(&body[0])), uintptr(unsafe.Pointer(&body[len(body)-1]))
		for _, s := range []string{system, tools[0].Name, tools[0].Description, tools[0].Schema, tools[0].Raw} {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= first && at <= last {
				t.Errorf("%s: %q shares the memory of the request", on.format, s)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Of two requests that continue one, the first goes on in the memory of its lists, and neither
// changes what the other has.
func TestContinuedTwice(t *testing.T) {
	for _, on := range protocols {
		a := newAgent(on, "", "Begin.")
		for i := range 20 {
			a.say(fmt.Sprint("message ", i))
		}
		var before decoded
		first := must(on.read(a.body()))
		before.messages = first.messages
		before.hash(on, &decoded{})
		earlier, had := first.earlier(), len(a.history)
		var got [2]*request
		var hashed [2]decoded
		for i := range got {
			a.history = a.history[:had:had]
			a.say(fmt.Sprint("one way or the other: ", i))
			got[i] = must(on.readAfter(earlier, a.body()))
			hashed[i].messages = got[i].messages
			hashed[i].hash(on, &before)
		}
		for i := range got {
			a.history = a.history[:had:had]
			a.say(fmt.Sprint("one way or the other: ", i))
			want, wantHashed := must(on.read(a.body())), decoded{}
			wantHashed.messages = want.messages
			wantHashed.hash(on, &decoded{})
			if !reflect.DeepEqual(got[i].wireRequest, want.wireRequest) {
				t.Errorf("%s: request %d is another one", on.format, i)
			}
			if !slices.Equal(hashed[i].hashes, wantHashed.hashes) ||
				!slices.Equal(hashed[i].prefixes, wantHashed.prefixes) {
				t.Errorf("%s: request %d has other hashes", on.format, i)
			}
		}
		if &got[0].messages[0] == &got[1].messages[0] {
			t.Errorf("%s: both have the same memory", on.format)
		}
	}
}

func takeAll(int64) bool { return true }

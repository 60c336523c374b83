package lineage

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/proxy/internal/protocol"
	"github.com/pleat-dev/pleat/transcript"
)

// What a client sends again is neither decoded nor hashed again, and gives the same hash
// chain; what is kept for that is bounded.
func TestKnown(t *testing.T) {
	known := NewCache(1 << 30)
	body := func(talk, messages int) []byte {
		list := []string{fmt.Sprintf(`{"role":"user","content":"talk %d"}`, talk)}
		for i := range messages {
			list = append(list, fmt.Sprintf(`{"role":"user","content":"message %d %s"}`, i, strings.Repeat("x", 1000)))
		}
		return []byte(`{"model":"m","messages":[` + strings.Join(list, ",") + `]}`)
	}
	for n := 1; n < 20; n++ {
		for talk := range likeliest {
			r, err := known.Read(protocol.Messages, "", body(talk, n), takeAll)
			difftest.Must(t, err)
			want := hashesIn(protocol.Messages, body(talk, n))
			if len(r.Prefixes) != n+1 || r.Prefixes[n] != transcript.Chain(transcript.Hash{}, want)[n] {
				t.Fatalf("talk %d with %d messages: another hash chain", talk, n)
			}
		}
	}
	if n := known.recent.Len(); n != likeliest {
		t.Errorf("%d requests are known of %d conversations", n, likeliest)
	}
	hashed := 0
	counting := *protocol.Messages
	counting.Hash = func(raw []byte) transcript.Hash {
		hashed++
		return protocol.Messages.Hash(raw)
	}
	must(known.Read(&counting, "", body(3, 30), takeAll))
	must(known.Read(&counting, "", bytes.Replace(body(3, 30), []byte("message 7 "), []byte("message X "), 1), takeAll))
	if hashed != 11+1 {
		t.Errorf("%d messages were hashed, want 11 that are new and 1 that has changed", hashed)
	}
	known.limit = 140_000
	for talk := range 50 {
		must(known.Read(protocol.Messages, fmt.Sprint("talk ", talk), body(talk, 20), takeAll))
	}
	if k := known; k.size > k.limit || k.recent.Len() != 4 || len(k.by) != 4 {
		t.Errorf("%d bytes of %d requests are kept, limit %d", k.size, k.recent.Len(), k.limit)
	}
}

// Of two requests that continue one, the first goes on in the memory of its lists, and neither
// changes what the other has.
func TestContinuedTwice(t *testing.T) {
	for _, on := range protocol.Protocols {
		body := func(n int, last ...string) []byte {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprint("message ", i))
			}
			list = append(list, last...)
			content := `"content":"%s"`
			if on == protocol.Gemini {
				content = `"parts":[{"text":"%s"}]`
			}
			for i := range list {
				list[i] = fmt.Sprintf(`{"role":"user",`+content+`}`, list[i])
			}
			return []byte(`{"model":"m","` + on.Array + `":[` + strings.Join(list, ",") + `]}`)
		}
		var before decoded
		first := must(on.Read(body(20)))
		before.messages = first.Messages
		before.hash(on, &decoded{})
		earlier := first.Earlier()
		var got [2]*protocol.Request
		var hashed [2]decoded
		for i := range got {
			got[i] = must(on.ReadAfter(earlier, body(20, fmt.Sprint("one way or the other: ", i))))
			hashed[i].messages = got[i].Messages
			hashed[i].hash(on, &before)
		}
		for i := range got {
			want, wantHashed := must(on.Read(body(20, fmt.Sprint("one way or the other: ", i)))), decoded{}
			wantHashed.messages = want.Messages
			wantHashed.hash(on, &decoded{})
			if !reflect.DeepEqual(got[i].Decoded, want.Decoded) {
				t.Errorf("%s: request %d is another one", on.Format, i)
			}
			if !slices.Equal(hashed[i].hashes, wantHashed.hashes) ||
				!slices.Equal(hashed[i].prefixes, wantHashed.prefixes) {
				t.Errorf("%s: request %d has other hashes", on.Format, i)
			}
		}
		if &got[0].Messages[0] == &got[1].Messages[0] {
			t.Errorf("%s: both have the same memory", on.Format)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func takeAll(int64) bool { return true }

// hashesIn has the hashes of the messages of a request.
func hashesIn(on *protocol.Protocol, body []byte) (list []transcript.Hash) {
	for _, m := range must(on.Read(body)).Messages {
		list = append(list, on.Hash([]byte(m.Raw())))
	}
	return list
}

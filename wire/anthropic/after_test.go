package anthropic

import (
	"bytes"
	"reflect"
	"testing"
)

// A body that is decoded after another one is decoded as by itself, whatever the other held;
// and what both hold is taken from the other.
func TestDecodeAfter(t *testing.T) {
	reused := 0
	for seed := range uint64(300) {
		g := newGen(seed)
		body := g.body()
		want, err := Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := want.Splice(randomView(want, g.Rand))
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range [][]byte{
			body, changed, g.body(),
			bytes.ReplaceAll(body, []byte("cache_control"), []byte("cache_comment")),
		} {
			earlier, err := Decode(before)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeAfter(earlier.Earlier(), body)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: decoded after\n%s\nthis is another request:\n%s", seed, before, body)
			}
			for i := range min(len(got.Messages), len(earlier.Messages)) {
				if got.Messages[i].Blocks().Len() > 0 &&
					&got.body.Elements[i].Places[0] == &earlier.body.Elements[i].Places[0] {
					reused++
				}
			}
		}
	}
	if reused < 1000 {
		t.Errorf("%d messages were taken from an earlier request", reused)
	}
}

package term

import "testing"

func TestByteCount(t *testing.T) {
	for text, want := range map[string]ByteCount{
		"800M":   8e8,
		"1.5 GB": 15e8,
		"64k":    64e3,
		"1000":   1000,
		"":       0,
		"-1":     0,
		"x":      0,
		"1T":     0,
	} {
		var got ByteCount
		if err := got.Set(text); (err != nil) != (want == 0) || got != want {
			t.Errorf("%q is %d, want %d (%v)", text, got, want, err)
		}
	}
}

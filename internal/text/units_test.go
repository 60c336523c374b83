package text

import "testing"

func TestShort(t *testing.T) {
	for n, want := range map[int]string{
		0: "0", 999: "999", 1000: "1.0k", 9949: "9.9k", 9950: "10k", 12_991: "13k", 30_600: "31k", 99_542: "100k",
		999_499: "999k", 999_500: "1.0M", 9_949_999: "9.9M", 9_950_000: "10M", 12_991_000: "13M",
	} {
		if got := Short(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

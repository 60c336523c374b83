package webproxy

import (
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
)

// What NO_PROXY lists stays, and this machine is added to both spellings.
func TestNoProxy(t *testing.T) {
	const here = "127.0.0.1,localhost,::1"
	for _, tt := range []struct{ via, upper, lower, wantUpper, wantLower, wrong string }{
		{wantUpper: here, wantLower: here},
		{via: "http://web", wantUpper: here, wantLower: here, wrong: "export NO_PROXY=" + here + " no_proxy=" + here},
		{
			via: "http://web", upper: "corp.example, .lan", wantUpper: "corp.example,.lan," + here,
			wantLower: "corp.example,.lan," + here,
			wrong:     "export NO_PROXY=corp.example,.lan," + here + " no_proxy=corp.example,.lan," + here,
		},
		{
			via: "http://web", upper: "127.0.0.1", lower: "a.example", wantUpper: "127.0.0.1,localhost,::1",
			wantLower: "a.example," + here, wrong: "export NO_PROXY=" + here + " no_proxy=a.example," + here,
		},
		{
			via: "http://web", lower: "localhost,127.0.0.1", wantUpper: "localhost,127.0.0.1,::1",
			wantLower: "localhost,127.0.0.1,::1",
		},
		{via: "http://web", upper: "*", wantUpper: "*", wantLower: "*"},
	} {
		env := map[string]string{"https_proxy": tt.via, "NO_PROXY": tt.upper, "no_proxy": tt.lower}
		getenv := func(name string) string { return env[name] }
		want := []string{"NO_PROXY=" + tt.wantUpper, "no_proxy=" + tt.wantLower}
		if diff := difftest.Values(want, NoProxy(getenv)); diff != "" {
			t.Errorf("%+v: %s", tt, diff)
		}
		if got := Exposed(getenv); got != tt.wrong {
			t.Errorf("%+v: exposed: %q", tt, got)
		}
	}
}

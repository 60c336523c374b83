package term

import (
	"bytes"
	"strings"
	"testing"
)

// A table fits the screen: its first column gives way.
func TestTableFits(t *testing.T) {
	for _, width := range []string{"40", "60"} {
		var out bytes.Buffer
		env := map[string]string{"COLUMNS": width}
		p := &Console{Stdout: &out, Stderr: &out, Getenv: func(name string) string { return env[name] }}
		rows := [][]string{{"TENANT", "SESSIONS"}, {"key-6f624qaryw0nf2ap-and-a-long-name-that-goes-on-and-on", "12"}}
		if err := p.Output(false, table(rows)); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			if most := map[string]int{"40": 40, "60": 60}[width]; Columns(line) > most {
				t.Errorf("%d columns: %q", most, line)
			}
		}
		if !strings.Contains(out.String(), "      12") {
			t.Errorf("the numbers are gone: %s", out.String())
		}
	}
}

type table [][]string

func (t table) Print(p *Page) { p.Table(t) }

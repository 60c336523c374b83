package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/agent"
)

// A command cannot erase itself from the question, and "always" means this command alone.
func TestPermission(t *testing.T) {
	var out bytes.Buffer
	r := &running{
		p: &program{stdout: &out}, f: &runFlags{}, screen: &runScreen{w: &out}, always: make(map[[2]string]bool),
		lines: &lineReader{out: &out, scanner: bufio.NewScanner(strings.NewReader("always\n"))},
	}
	call := agent.Call{Name: "bash", Subject: "find . -name *.go\x1b[2K\rls"}
	if d := r.askPerson(call); !d.Allow {
		t.Errorf("not allowed: %+v", d)
	}
	if strings.ContainsAny(out.String(), "\x1b\r") || !strings.Contains(out.String(), `*.go\u001b[2K\u000dls`) {
		t.Errorf("the question is %q", out.String())
	}
	for subject, want := range map[string]bool{call.Subject: true, "find . -name x.go\x1b[2K\rls": false, call.Subject + " -delete": false} {
		d, err := r.permit(t.Context(), agent.Call{Name: "bash", Subject: subject})
		if err != nil || d.Allow != want {
			t.Errorf("%q: %+v, %v", subject, d, err)
		}
	}
}

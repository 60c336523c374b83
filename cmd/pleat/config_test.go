package main

import "testing"

// No setting is printed with a password, however its address is written.
func TestShownValue(t *testing.T) {
	for value, want := range map[string]string{
		"/u:p@h/db": "/u:xxxxx@h/db", "u:p@h": "u:xxxxx@h", "u:p w@h": "u:xxxxx@h", "u:9 p@h": "u:xxxxx@h",
		"u: p@h": "u:xxxxx@h", "u:/p@h": "u:xxxxx@h", ":p@h": ":xxxxx@h", "redis://:p@h": "redis://:xxxxx@h",
		"postgres:/u:p w@h/db": "postgres:/u:xxxxx@h/db", "postgres://u:9 p@h/db": "postgres://u:xxxxx@h/db",
		"u:p\nw@h": "u:xxxxx@h", "host=h password=p": "host=h password=xxxxx",
		"https://me@h:80/x": "https://me@h:80/x", `C:\me@x\pleat.db`: `C:\me@x\pleat.db`, "http://h:80": "http://h:80",
		"postgres://h/x?passwrd=p": "postgres://h/x?passwrd=xxxxx", "postgres;//u:p@h/x": "postgres;//…",
		"postgres://u:p h/x": "postgres://…", "postgres://u:p": "postgres://…", "postgres/x.db": "postgres/x.db", "postgres://u:p＠h/x": "postgres://…",
		"postgres://u;p@h/x": "postgres://…", "postgres://u@[::1]:5432/x?sslmode=off": "postgres://u@[::1]:5432/x?sslmode=xxxxx",
		"/home/me@x/pleat.db": "/home/me@x/pleat.db", "anthropic:model": "anthropic:model",
	} {
		if got := shownValue(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}

package lineage

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPrincipal(t *testing.T) {
	claude := func(account string) []byte {
		return fmt.Appendf(nil,
			`{"messages":[],"metadata":{"user_id":"{\"device_id\":\"d\",\"account_uuid\":\"%s\",\"session_id\":\"s\"}"}}`,
			account)
	}
	of := func(body []byte, header ...string) string {
		r, _ := http.NewRequest(http.MethodPost, "http://x/v1/messages", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return Principal(r, body)
	}
	same := [][2]string{
		{
			of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-one"),
			of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-two"),
		},
		{
			of(nil, "Authorization", "Bearer eyJ.a.b", "Chatgpt-Account-Id", "7"),
			of(nil, "Authorization", "Bearer eyJ.c.d", "Chatgpt-Account-Id", "7"),
		},
		{of(nil), "local"},
	}
	for i, p := range same {
		if p[0] != p[1] {
			t.Errorf("%d: %s and %s should be one", i, p[0], p[1])
		}
	}
	all := []string{
		of(nil), of(nil, "X-Api-Key", "one"), of(nil, "X-Api-Key", "two"), of(nil, "Authorization",
			"Bearer sk-one"), of(nil, "Authorization", "Basic abc"),
		of(claude("acc"), "Authorization", "Bearer sk-ant-oat01-one"), of(claude("other"), "Authorization",
			"Bearer sk-ant-oat01-one"),
		of(claude(""), "Authorization", "Bearer sk-ant-oat01-one"), of(nil, "Authorization", "Bearer eyJ.a.b",
			"Chatgpt-Account-Id", "7"),
	}
	for i, p := range all {
		if slices.Index(all, p) != i {
			t.Errorf("%d: %s is somebody else's", i, p)
		}
		if strings.Contains(p, "one") || strings.Contains(p, "acc-") {
			t.Errorf("%s shows a credential", p)
		}
	}
	// An account is only believed beside a token that is renewed.
	if of(claude("acc"), "X-Api-Key", "one") != of(claude("other"), "X-Api-Key", "one") {
		t.Error("a key's principal depends on what the client says")
	}
}

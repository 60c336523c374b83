package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
)

// No way of printing a client's options shows its key.
func TestClientOptionsHideTheKey(t *testing.T) {
	o := model.ClientOptions{BaseURL: "http://127.0.0.1:1", Key: "sk-secret"}
	whole, err := json.Marshal([]any{o}) // as a logger would
	difftest.Must(t, err)
	for _, text := range []string{fmt.Sprint(o), fmt.Sprint(&o), fmt.Sprintf("%+v %#v %d", o, o, o), string(whole)} {
		if strings.Contains(text, "sk-secret") {
			t.Errorf("printed: %s", text)
		}
	}
}

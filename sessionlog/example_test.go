package sessionlog_test

import (
	"fmt"
	"strings"

	"github.com/pleat-dev/pleat/sessionlog"
)

func ExampleOpen() {
	file := strings.NewReader(
		`{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"what is here?"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Let me see."}]}}
{"type":"assistant","uuid":"3","parentUuid":"2","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"4","parentUuid":"3","mess
{"type":"user","uuid":"5","parentUuid":"3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a.go"}]}}
`,
	)
	log, err := sessionlog.Open(file, &sessionlog.Options{
		OnDamage: func(d sessionlog.Damage) { fmt.Println("damaged line", d.Line) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for rec, err := range log.Records() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rec.Line, rec.Message.Role(), rec.Message.Blocks().Len())
	}
	fmt.Println(log.Info().Format)
	// Output:
	// damaged line 4
	// 1 user 1
	// 2 assistant 2
	// 5 user 1
	// claude-code
}

package sessionlog_test

import (
	"encoding/json"
	"regexp"
	"strings"
)

// The counts below are written for the test, over decoded JSON and whole files, sharing
// nothing with the readers.

// behindReminder is typed text that the client put a reminder before.
var behindReminder = regexp.MustCompile(`(?s)^<system-reminder>.*</system-reminder>\s*\S`)

var injected = regexp.MustCompile(
	`^\s*(<(command-|local-command-|system-reminder|task-notification|bash-)|\[Request interrupted by user|\{"task_id":)`,
)

// countClaude: an answer is a distinct message id, the results of its calls are one
// message, everything else is a message a line.
func countClaude(data []byte) (c counts, err error) {
	lines, err := jsonLines(data)
	if err != nil {
		return c, err
	}
	answerOf := map[string]string{} // call to message id
	callsOf := map[string]int{}     // by message id
	resultGroups, answered := map[string]bool{}, map[string]bool{}
	answers := map[string]bool{}
	for _, o := range lines {
		if typeOf(o) != "assistant" {
			continue
		}
		id := str(dig(o, "message", "id"))
		for _, b := range list(dig(o, "message", "content")) {
			answers[id] = true
			if typeOf(b) == "tool_use" {
				answerOf[str(dig(b, "id"))] = id
				callsOf[id]++
				c.Calls++
			}
		}
	}
	c.Messages = len(answers)
	for _, n := range callsOf {
		if n > 1 {
			c.Parallel++
		}
	}
	for _, o := range lines {
		if typeOf(o) != "user" {
			continue
		}
		group, typed := "", false
		say := func(text string) {
			own := !injected.MatchString(text) || behindReminder.MatchString(text)
			if o["isMeta"] != true && o["isCompactSummary"] != true && own {
				typed = true
			}
		}
		switch content := dig(o, "message", "content").(type) {
		case string:
			say(content)
		case []any:
			for _, b := range content {
				switch typeOf(b) {
				case "tool_result":
					group = answerOf[str(dig(b, "tool_use_id"))]
					answered[str(dig(b, "tool_use_id"))] = true
					c.Results++
					c.Bytes += size(dig(b, "content"))
					if truth(dig(b, "is_error")) {
						c.Errors++
					}
				case "text":
					say(str(dig(b, "text")))
				case "image":
					say("picture")
				}
			}
		}
		if typed {
			c.Human++
		}
		if group == "" {
			c.Messages++
		} else {
			resultGroups[group] = true
		}
	}
	c.Messages += len(resultGroups)
	c.Unanswered = c.Calls - len(answered)
	for _, text := range delivered(lines) {
		c.Messages++
		if !injected.MatchString(text) {
			c.Human++
		}
	}
	return c, nil
}

// delivered are the texts that were queued and then shown to the model in the middle of a turn:
// newer versions write them as attachments, older ones only that they left the queue.
func delivered(lines []object) (texts []string) {
	attached := map[string]bool{}
	for _, o := range lines {
		if a := o["attachment"]; typeOf(a) == "queued_command" {
			text := str(dig(a, "prompt"))
			for _, part := range list(dig(a, "prompt")) {
				text += str(dig(part, "text"))
			}
			attached[text] = true
			texts = append(texts, text)
		}
	}
	var waiting []string
	for _, o := range lines {
		if typeOf(o) != "queue-operation" {
			continue
		}
		switch str(o["operation"]) {
		case "enqueue":
			waiting = append(waiting, str(o["content"]))
		case "popAll":
			waiting = nil
		case "dequeue", "remove":
			if len(waiting) == 0 {
				continue
			}
			if str(o["operation"]) == "remove" && !attached[waiting[0]] {
				texts = append(texts, waiting[0])
			}
			waiting = waiting[1:]
		}
	}
	return texts
}

// countCodex counts no errors: an output of this wire has no mark for them. The ledger reads
// whether a call failed from what the output says.
func countCodex(data []byte) (c counts, err error) {
	lines, err := jsonLines(data)
	if err != nil {
		return c, err
	}
	run := 0 // calls since the last thing that was no answer
	end := func() {
		if run > 1 {
			c.Parallel++
		}
		run = 0
	}
	for _, o := range lines {
		p := o["payload"]
		if typeOf(p) == "user_message" && typeOf(o) == "event_msg" {
			c.Human++
		}
		if typeOf(o) != "response_item" {
			continue
		}
		c.Messages++
		switch kind := typeOf(p); {
		case kind == "function_call" || kind == "custom_tool_call":
			c.Calls++
			run++
		case kind == "function_call_output" || kind == "custom_tool_call_output":
			c.Results++
			c.Bytes += size(dig(p, "output"))
			end()
		case kind == "message" && str(dig(p, "role")) != "assistant":
			end()
		}
	}
	end()
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

func countOpenCode(data []byte) (c counts, err error) {
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		return c, err
	}
	for _, m := range list(doc["messages"]) {
		user := str(dig(m, "info", "role")) == "user"
		calls, results, says := 0, 0, 0
		typed, synthetic := 0, 0
		for _, p := range list(dig(m, "parts")) {
			switch typeOf(p) {
			case "text":
				says++
				if truth(dig(p, "synthetic")) {
					synthetic = 1
				} else if user {
					typed = 1
				}
			case "reasoning":
				if str(dig(p, "text")) != "" {
					says++
				}
			case "tool":
				calls++
				switch str(dig(p, "state", "status")) {
				case "error":
					c.Errors++
					results++
					c.Bytes += size(dig(p, "state", "error"))
				case "completed":
					results++
					c.Bytes += size(dig(p, "state", "output"))
				}
			}
		}
		c.Calls += calls
		c.Results += results
		c.Human += typed
		if calls > 1 {
			c.Parallel++
		}
		switch {
		case user:
			c.Messages += typed + synthetic
		default:
			c.Messages += min(says+calls, 1) + min(results, 1)
		}
	}
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

func countGemini(data []byte) (c counts, err error) {
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		return c, err
	}
	for _, m := range list(doc["messages"]) {
		switch typeOf(m) {
		case "user":
			c.Messages++
			c.Human++
		case "gemini":
			c.Messages++
			calls := list(dig(m, "toolCalls"))
			c.Calls += len(calls)
			if len(calls) > 1 {
				c.Parallel++
			}
			answers := 0
			for _, call := range calls {
				for _, r := range list(dig(call, "result")) {
					if resp, ok := dig(r, "functionResponse", "response").(object); ok {
						answers++
						c.Bytes += size(resp["output"]) + size(resp["error"])
						if resp["error"] != nil {
							c.Errors++
						}
					}
				}
			}
			c.Results += answers
			c.Messages += min(answers, 1)
		}
	}
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

// countCopilot: a user message is up to three, by who wrote its pieces.
func countCopilot(data []byte) (c counts, err error) {
	lines, err := jsonLines(data)
	if err != nil {
		return c, err
	}
	after := "" // the kind of message before
	for _, o := range lines {
		d := o["data"]
		switch typeOf(o) {
		case "user.message":
			c.Messages++
			if d.(object)["source"] == nil {
				c.Human++
			}
			if sent := str(dig(d, "transformedContent")); sent != "" {
				at := strings.Index(sent, str(dig(d, "content")))
				if at != 0 {
					c.Messages++
				}
				if at >= 0 && at+len(str(dig(d, "content"))) < len(sent) {
					c.Messages++
				}
			}
			after = "user"
		case "assistant.message":
			c.Messages++
			n := len(list(dig(d, "toolRequests")))
			c.Calls += n
			if n > 1 {
				c.Parallel++
			}
			after = "assistant"
		case "tool.execution_complete":
			c.Results++
			c.Bytes += size(dig(d, "result", "content"))
			if !truth(dig(d, "success")) {
				c.Errors++
			}
			if after != "result" {
				c.Messages++
			}
			after = "result"
		}
	}
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

func countPi(data []byte) (c counts, err error) {
	lines, err := jsonLines(data)
	if err != nil {
		return c, err
	}
	after := ""
	for _, o := range lines {
		m := o["message"]
		if typeOf(o) != "message" {
			continue
		}
		role := str(dig(m, "role"))
		calls := 0
		for _, b := range list(dig(m, "content")) {
			if typeOf(b) == "toolCall" {
				calls++
			}
		}
		c.Calls += calls
		if calls > 1 {
			c.Parallel++
		}
		if role != "toolResult" || after != "toolResult" {
			c.Messages++
		}
		switch role {
		case "user":
			c.Human++
		case "toolResult":
			c.Results++
			c.Bytes += size(dig(m, "content"))
			if truth(dig(m, "isError")) {
				c.Errors++
			}
		}
		after = role
	}
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

func countOpenHands(data []byte) (c counts, err error) {
	lines, err := jsonLines(data)
	if err != nil {
		return c, err
	}
	for _, o := range lines {
		answers := map[string]bool{}
		for _, e := range list(o["history"]) {
			action, observation, meta := str(dig(e, "action")), str(dig(e, "observation")), dig(e, "tool_call_metadata")
			answer := str(dig(meta, "model_response", "id"))
			switch {
			case observation != "" && meta != nil:
				c.Results++
				c.Bytes += size(dig(e, "content"))
				c.Messages++
				exit := number(dig(e, "extras", "metadata", "exit_code"))
				if exit != 0 || strings.HasPrefix(str(dig(e, "content")), "ERROR:") {
					c.Errors++
				}
			case observation != "":
				c.Messages++ // recall and refusals
			case meta != nil:
				c.Calls++
				if !answers[answer] {
					c.Messages++
				}
				answers[answer] = true
			case action == "message":
				c.Messages++
			}
		}
	}
	c.Unanswered = c.Calls - c.Results
	return c, nil
}

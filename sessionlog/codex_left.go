package sessionlog

import (
	"bytes"
	"io"
)

// stretch is from one line to before another.
type stretch struct{ from, to int }

// codexLeft finds what the user rolled back: an event names the number of turns, each of which begins with what
// the user typed. Most rollouts have no such event, and are not read twice.
func codexLeft(src *source) ([]stretch, error) {
	if found, err := src.has("thread_rolled_back"); !found || err != nil {
		return nil, err
	}
	var left []stretch
	var turns []int // where each begins
	newest := 0     // message of the user
	lr := newLineReader(src)
	for {
		ln, err := lr.next()
		if err == io.EOF {
			return left, nil
		}
		if err != nil {
			return nil, err
		}
		v, err := parse(ln.text)
		if err != nil {
			continue // it is reported when it is read
		}
		payload := v.get("payload")
		switch typ := payload.get("type"); {
		case v.get("type").is("response_item"):
			if payload.get("role").is("user") {
				newest = ln.num
			}
		case !v.get("type").is("event_msg"):
		case codexTyped(payload) && newest > 0:
			turns = append(turns, newest)
		case typ.is("thread_rolled_back"):
			if n := min(payload.get("num_turns").num(), len(turns)); n > 0 {
				left = append(left, stretch{turns[len(turns)-n], ln.num})
				turns = turns[:len(turns)-n]
			}
		}
	}
}

// codexTyped reports whether an event says that the newest message is what the user typed.
func codexTyped(event value) bool {
	return event.get("type").is("user_message") ||
		event.get("type").is("item_completed") && event.get("item", "type").is("UserMessage")
}

// has reports whether a source has a short text.
func (s *source) has(text string) (bool, error) {
	buf := make([]byte, min(s.size, 1<<20))
	for off := int64(0); off < s.size; off += int64(len(buf) - len(text) + 1) {
		part := buf[:min(s.size-off, int64(len(buf)))]
		if err := s.readAt(part, off); err != nil {
			return false, err
		}
		if bytes.Contains(part, []byte(text)) {
			return true, nil
		}
		if off+int64(len(part)) >= s.size {
			break
		}
	}
	return false, nil
}

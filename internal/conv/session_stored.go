package conv

import (
	"encoding/json"
	"fmt"

	"github.com/pleat-dev/pleat/transcript"
)

// The forms of a message's body.
const (
	FormWire  = "wire"
	FormPleat = "pleat"
)

// messageForm says how a stored message is read.
type MessageForm struct {
	wire   bool
	format transcript.Format
	role   transcript.Role
	origin transcript.Origin
}

func ReadMessageData(data []byte) (d MessageData, err error) {
	err = json.Unmarshal(data, &d)
	return d, err
}

func (d MessageData) Reading() MessageForm {
	return MessageForm{d.Form != FormPleat, d.Format, d.Role, d.Origin}
}

// message reads a message back from its body.
func (f MessageForm) Message(body []byte, codecs map[transcript.Format]transcript.Codec) (transcript.Message, error) {
	if !f.wire {
		var m transcript.Message
		err := json.Unmarshal(body, &m)
		return m, err
	}
	codec := codecs[f.format]
	if codec == nil {
		return transcript.Message{}, fmt.Errorf("no codec for format %q: pass it in Options.Codecs", f.format)
	}
	m, err := codec(body)
	if err != nil {
		return transcript.Message{}, err
	}
	return m.WithOrigin(f.origin), nil
}

package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/tmc/langchaingo/llms"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/store/storetest"
	"github.com/pleat-dev/pleat/transcript"
)

// TestMain fails if a program leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestBolt holds the store to the contract.
func TestBolt(t *testing.T) {
	open := func(t *testing.T, file string) store.Store {
		db, err := bbolt.Open(file, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		return boltStore{db}
	}
	storetest.Test(t, func(t *testing.T) store.Store { return open(t, filepath.Join(t.TempDir(), "sessions.db")) },
		&storetest.Options{Reopen: func(t *testing.T, st store.Store) store.Store {
			file := st.(boltStore).db.Path()
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, file)
		}, Damage: func(t *testing.T, st store.Store, key store.SessionKey, body transcript.Hash) {
			err := st.(boltStore).db.Update(func(tx *bbolt.Tx) error {
				return tx.Bucket(name(key.Tenant, key.Session)).Put(body[:], []byte("something else"))
			})
			if err != nil {
				t.Fatal(err)
			}
		}, Spoil: func(t *testing.T, st store.Store, key store.SessionKey, seq uint64, remove bool) {
			err := st.(boltStore).db.Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket(name(key.Tenant, key.Session))
				if remove {
					return b.Delete(number(seq))
				}
				data := bytes.Clone(b.Get(number(seq)))
				data[len(data)-1]++
				return b.Put(number(seq), data)
			})
			if err != nil {
				t.Fatal(err)
			}
		}})
}

// TestLibraryDoc: the code in docs/library.md is that of the programs here.
func TestLibraryDoc(t *testing.T) {
	doc, err := os.ReadFile("../../docs/library.md")
	var code []byte
	for _, name := range []string{"anthropic_test.go", "openai_test.go", "server_test.go"} {
		file, wrong := os.ReadFile(name)
		code, err = append(code, file...), errors.Join(err, wrong)
	}
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.NewReplacer("\t", "") // a piece of a function is indented less
	for i, block := range strings.Split(string(doc), "```")[1:] {
		text, ok := strings.CutPrefix(block, "go\n")
		if ok && !strings.Contains(flat.Replace(string(code)), flat.Replace(text)) {
			t.Errorf("block %d is other code:\n%s", i, text)
		}
	}
}

// window is the context window of the programs' model, in tokens.
const window = 8_000

// answer plays a model that reads thirty files and then wants to know again what the third one
// said. It is given how many results it has had so far, and all that it is sent. Empty names of
// tools mean that it says the text.
func answer(results int, sent string) (tool, text string, err error) {
	switch {
	case len(sent) > 4*window:
		return "", "", errors.New("prompt is too long")
	case results < 30:
		return "read", fmt.Sprintf(`{"path":"part%d.txt"}`, results+1), nil
	case results == 30:
		return "search", `{"queries":["price of part 3"]}`, nil
	case strings.Contains(sent, "The price of part 3 is 103."):
		return "", "Part 3 costs 103.", nil
	}
	return "", "I have forgotten part 3.", nil
}

var ownTool = pleat.Tool{Name: "read", Description: "Reads a file.", Schema: `{"type":"object"}`}

// read is the programs' own tool.
func read(input string) string {
	var part int
	if _, err := fmt.Sscanf(input, `{"path":"part%d.txt"}`, &part); err != nil {
		return err.Error()
	}
	line := fmt.Sprintf("Nothing else is known of part %d, and nobody has asked.\n", part)
	return fmt.Sprintf("The price of part %d is %d.\n", part, 100+part) + strings.Repeat(line, 40)
}

// einoModel is that model for eino.
type einoModel struct{ results *int }

func (m einoModel) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	var sent strings.Builder
	for _, in := range input {
		sent.WriteString(in.Content)
	}
	name, text, err := answer(*m.results, sent.String())
	if err != nil || name == "" {
		return schema.AssistantMessage(text, nil), err
	}
	*m.results++
	call := schema.ToolCall{ID: fmt.Sprint("call_", *m.results)}
	call.Function = schema.FunctionCall{Name: name, Arguments: text}
	return schema.AssistantMessage("", []schema.ToolCall{call}), nil
}

func (m einoModel) Stream(
	ctx context.Context, input []*schema.Message, _ ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, input)
	return schema.StreamReaderFromArray([]*schema.Message{out}), err
}

func (m einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// chainModel is that model for langchaingo.
type chainModel struct {
	llms.Model
	results int
}

func (m *chainModel) GenerateContent(
	_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption,
) (*llms.ContentResponse, error) {
	var sent strings.Builder
	for _, msg := range messages {
		fmt.Fprint(&sent, msg.Parts)
	}
	name, text, err := answer(m.results, sent.String())
	choice := &llms.ContentChoice{Content: text}
	if name != "" {
		m.results++
		call := &llms.FunctionCall{Name: name, Arguments: text}
		choice = &llms.ContentChoice{
			ToolCalls: []llms.ToolCall{{ID: fmt.Sprint("call_", m.results), FunctionCall: call}},
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, err
}

// newProvider serves that model to the SDKs. It thinks before each answer on the Messages wire, and its thinking is
// valid only with leave to drop what is not.
func newProvider() *httptest.Server {
	results := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var name, text string
		if err == nil {
			name, text, err = answer(results, string(body))
		}
		chat := strings.HasSuffix(r.URL.Path, "/chat/completions")
		drops := strings.Contains(string(body), `"drop_block"`) && r.Header.Get("Anthropic-Beta") != ""
		if err != nil || !chat && !drops {
			http.Error(w, `{"error":{"type":"invalid_request_error","message":"prompt is too long"}}`, http.StatusBadRequest)
			return
		}
		if name != "" {
			results++
		}
		id := fmt.Sprint("call_", results)
		w.Header().Set("Content-Type", "application/json")
		if chat {
			message := fmt.Sprintf(`{"role":"assistant","content":%q}`, text)
			if name != "" {
				message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function",`+
					`"function":{"name":%q,"arguments":%q}}]}`, id, name, text)
			}
			fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":%d,"completion_tokens":9}}`, message, len(body)/4)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(kind, format string, args ...any) {
			fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
		}
		send("message_start", `,"message":{"id":"m","type":"message","role":"assistant","content":[],`+
			`"usage":{"input_tokens":%d}}`, len(body)/4)
		send("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":"s"}`)
		send("content_block_stop", `,"index":0`)
		if name == "" {
			send("content_block_start", `,"index":1,"content_block":{"type":"text","text":%q}`, text)
		} else {
			const call = `{"type":"tool_use","id":%q,"name":%q,"input":{}}`
			const input = `{"type":"input_json_delta","partial_json":%q}`
			send("content_block_start", `,"index":1,"content_block":`+call, id, name)
			send("content_block_delta", `,"index":1,"delta":`+input, text)
		}
		send("content_block_stop", `,"index":1`)
		send("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}`)
		send("message_stop", "")
	}))
}

package telemetry

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/internal/difftest"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/store"
)

func TestTelemetrySpans(t *testing.T) {
	kept := tracetest.NewInMemoryExporter()
	tel := newTelemetry(sdktrace.NewSimpleSpanProcessor(kept))
	asked := tel.Generator(model.GeneratorFunc(func(ctx context.Context, _ *model.Request,
		_ func(model.Delta),
	) (model.Reply, error) {
		key := store.SessionKey{Session: "work"}
		tel.Session(ctx, key, pleat.Event{
			Kind: pleat.EventEpoch, Before: 900, Snapshot: &fold.Snapshot{Tokens: 400},
			Plan: &fold.Plan{Epoch: 2, Trigger: fold.TriggerRed, Before: 600, After: 300, Folds: make([]*fold.Fold, 3)},
		})
		tel.Session(ctx, key, pleat.Event{Kind: pleat.EventRecall, Recall: "what was said is not told"})
		return model.Reply{Usage: model.Usage{
			Input: 10, CacheRead: 90,
			Output: 7,
		}}, &model.APIError{Kind: model.ErrorOverloaded, Message: "secret words"}
	}), "anthropic", "work")
	if _, err := asked.Generate(t.Context(), &model.Request{Model: "claude-opus-5-5"}, nil); err == nil {
		t.Error("the error of the call is lost")
	}

	spans := kept.GetSpans()
	if len(spans) != 3 || spans[0].Name != "pleat.epoch" || spans[1].Name != "pleat.recall" ||
		spans[2].Name != "chat claude-opus-5-5" {
		t.Fatalf("spans: %v", spans)
	}
	if spans[0].Parent.SpanID() != spans[2].SpanContext.SpanID() {
		t.Error("the epoch is not inside the call")
	}
	want := map[string]string{
		"pleat.tokens.before": "900", "pleat.tokens.after": "400", "pleat.trigger": "red",
		"pleat.folds": "3", "gen_ai.conversation.id": "work",
	}
	difftest.Equal(t, want, pick(spans[0].Attributes, want))
	want = map[string]string{
		"gen_ai.usage.input_tokens": "100", "gen_ai.usage.output_tokens": "7",
		"gen_ai.provider.name": "anthropic", "error.type": "overloaded",
	}
	difftest.Equal(t, want, pick(spans[2].Attributes, want))
	if len(spans[1].Attributes) != 1 {
		t.Errorf("the recall tells %v", spans[1].Attributes)
	}
}

func pick(from []attribute.KeyValue, want map[string]string) map[string]string {
	out := make(map[string]string)
	for _, kv := range from {
		if _, ok := want[string(kv.Key)]; ok {
			out[string(kv.Key)] = kv.Value.String()
		}
	}
	return out
}

func TestTelemetryEndpoint(t *testing.T) {
	var posts atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			posts.Add(1)
		}
	}))
	defer collector.Close()
	none := &term.Console{Getenv: func(string) string { return "" }}
	for _, address := range []string{"http://u:hunter2#w@h", "http:/u:hunter2@h", "http://u:hunter2 w@h", "h:4318"} {
		if _, err := Start(t.Context(), none, address); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, tt := range []struct {
		flag, env string
		posts     int32
	}{{"", "", 0}, {collector.URL, "", 1}, {"", collector.URL, 2}} {
		p := &term.Console{Getenv: func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": tt.env}[name]
		}}
		tel, err := Start(t.Context(), p, tt.flag)
		difftest.Must(t, err)
		tel.Session(t.Context(), store.SessionKey{Session: "s"}, pleat.Event{
			Kind: pleat.EventError, Err: errors.New("broken"),
		})
		if err := tel.Close(); err != nil || posts.Load() != tt.posts {
			t.Errorf("flag %q, environment %q: %v, %d posts, want %d", tt.flag, tt.env, err, posts.Load(), tt.posts)
		}
	}
}

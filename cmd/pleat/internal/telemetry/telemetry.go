// Package telemetry sends OpenTelemetry what the agent and the proxy do, and never what was
// said.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pleat-dev/pleat"
	"github.com/pleat-dev/pleat/cmd/pleat/internal/term"
	"github.com/pleat-dev/pleat/fold"
	"github.com/pleat-dev/pleat/model"
	"github.com/pleat-dev/pleat/proxy"
	"github.com/pleat-dev/pleat/store"
	"github.com/pleat-dev/pleat/transcript"
)

// Telemetry sends OpenTelemetry what the agent and the proxy do: model calls with the
// attributes of the GenAI conventions, and compactions with their sizes. It never sends
// what was said.
type Telemetry struct {
	tracer trace.Tracer
	stop   func(context.Context) error
}

// Usage is the help of --otel.
const Usage = "send OpenTelemetry traces to the OTLP/HTTP collector at `URL`, such as http://127.0.0.1:4318, " +
	"or with \"-\" print them; else $OTEL_EXPORTER_OTLP_ENDPOINT, else none"

// Start starts the exporter. Without an endpoint nothing is sent and nothing runs.
func Start(ctx context.Context, p *term.Console, endpoint string) (*Telemetry, error) {
	if endpoint = cmp.Or(endpoint, p.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")); endpoint == "" {
		return &Telemetry{noop.NewTracerProvider().Tracer(""), func(context.Context) error { return nil }}, nil
	}
	if endpoint == "-" {
		return newTelemetry(sdktrace.NewSimpleSpanProcessor(printer{p})), nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("send traces to %s: want http://HOST:PORT or https://HOST", term.WithoutPassword(endpoint))
	}
	out, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(5*time.Second))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", term.WithoutPassword(endpoint), err)
	}
	return newTelemetry(sdktrace.NewBatchSpanProcessor(out)), nil
}

func newTelemetry(to sdktrace.SpanProcessor) *Telemetry {
	about := resource.NewSchemaless(attribute.String("service.name", "pleat"))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(to), sdktrace.WithResource(about))
	return &Telemetry{provider.Tracer("github.com/pleat-dev/pleat"), provider.Shutdown}
}

// printer writes spans down, one a line.
type printer struct{ *term.Console }

func (p printer) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		line := "span " + s.Name()
		for _, a := range s.Attributes() {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
		}
		p.Printf("%s\n", line)
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

// Close sends what is left. It waits a few seconds at most, so that a collector that is down
// does not keep the program from ending.
func (t *Telemetry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := t.stop(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// chat begins the span of a model call.
func (t *Telemetry) chat(
	ctx context.Context, provider, mdl, session string, o ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, "chat "+mdl, append(o, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", provider),
		attribute.String("gen_ai.request.model", mdl),
		attribute.String("gen_ai.conversation.id", session),
	))...)
}

func used(u model.Usage) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.Int("gen_ai.usage.input_tokens", u.Prompt()),
		attribute.Int("gen_ai.usage.output_tokens", u.Output),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
		attribute.Int("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite+u.CacheWrite1h),
	}
}

// Session observes a session: every epoch becomes a span with its sizes, every recall and
// error a span of its own.
func (t *Telemetry) Session(ctx context.Context, key store.SessionKey, e pleat.Event) {
	switch e.Kind {
	case pleat.EventEpoch:
		t.mark(ctx, key.Session, "pleat.epoch",
			attribute.Int("pleat.epoch", e.Plan.Epoch),
			attribute.String("pleat.trigger", string(e.Plan.Trigger)),
			attribute.Int("pleat.tokens.before", int(e.Before)),
			attribute.Int("pleat.tokens.after", int(e.Snapshot.Tokens)),
			attribute.Int("pleat.folds", len(e.Plan.Folds)),
			attribute.Int("pleat.cache.rewritten", int(e.Rewritten)))
	case pleat.EventRecall:
		t.mark(ctx, key.Session, "pleat.recall")
	case pleat.EventError:
		t.mark(ctx, key.Session, "pleat.error", attribute.String("error.type", errorType(e.Err)))
	}
}

// mark sends a span without length: there need not be one that it is an event of.
func (t *Telemetry) mark(ctx context.Context, session, name string, about ...attribute.KeyValue) {
	_, span := t.tracer.Start(ctx, name, trace.WithAttributes(append(about,
		attribute.String("gen_ai.conversation.id", session))...))
	span.End()
}

// errorType names an error without its message, which may quote what was said.
func errorType(err error) string {
	if e, ok := errors.AsType[*model.APIError](err); ok {
		return e.Kind.String()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, fold.ErrCannotFit):
		return "cannot_fit"
	case errors.Is(err, store.ErrFull):
		return "store_full"
	case errors.Is(err, store.ErrCorrupt):
		return "corrupt"
	}
	return "other"
}

// Generator wraps a model so that every call of it has its span.
func (t *Telemetry) Generator(g model.Generator, provider, session string) model.Generator {
	type sink = func(model.Delta)
	return model.GeneratorFunc(func(ctx context.Context, req *model.Request, to sink) (model.Reply, error) {
		ctx, span := t.chat(ctx, provider, req.Model, session)
		defer span.End()
		r, err := g.Generate(ctx, req, to)
		span.SetAttributes(append(used(r.Usage),
			attribute.String("gen_ai.response.id", r.ID),
			attribute.String("gen_ai.response.model", r.Model),
			attribute.StringSlice("gen_ai.response.finish_reasons", []string{r.Stop.String()}))...)
		if err != nil {
			span.SetStatus(codes.Error, errorType(err))
			span.SetAttributes(attribute.String("error.type", errorType(err)))
		}
		return r, err
	})
}

// Exchange sends the span of a request that went through the proxy, after it is over.
func (t *Telemetry) Exchange(r proxy.Exchange) {
	if r.Session.Session == "" {
		return
	}
	provider := "openai"
	if r.Format == transcript.FormatAnthropic {
		provider = "anthropic"
	}
	_, span := t.chat(context.Background(), provider, r.Model, r.Session.Session, trace.WithTimestamp(r.Began))
	span.SetAttributes(append(used(r.Usage),
		attribute.Int("http.response.status_code", r.Status),
		attribute.Bool("pleat.folded", r.Folded),
		attribute.Int("pleat.tokens.before", int(r.Snapshot.Whole)),
		attribute.Int("pleat.tokens.after", int(r.Snapshot.Tokens)),
		attribute.Int("pleat.hidden_rounds", r.Hidden),
		attribute.Float64("pleat.added_seconds", r.Added.Seconds()))...)
	if r.Err != nil {
		span.SetStatus(codes.Error, errorType(r.Err))
	}
	span.End(trace.WithTimestamp(r.Began.Add(r.Took)))
}

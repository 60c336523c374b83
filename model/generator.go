package model

import (
	"context"
)

// Generator is a model that can be asked: the one seam between pleat and model servers.
// The wire packages have clients for real ones, package pleattest has one that follows a
// script.
//
// Generate sends the request and returns the whole answer. With a sink, pieces of the
// answer are handed to it in order as they arrive; the sink must not block for long.
// Without one the answer need not be streamed. The request is not changed and not kept.
//
// An answer of a provider that is an error comes back as an [*APIError] in the chain. An
// answer that broke off is an error too; what had arrived is in the Reply then.
type Generator interface {
	Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)
}

// GeneratorFunc makes a function a [Generator].
type GeneratorFunc func(ctx context.Context, req *Request, sink func(Delta)) (Reply, error)

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, req *Request, sink func(Delta)) (Reply, error) {
	return f(ctx, req, sink)
}

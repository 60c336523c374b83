package mcp

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client over streams, a JSON object a line, until the input or ctx ends.
// Requests that are not answered when the input ends are cancelled.
func Serve(ctx context.Context, srv *sdk.Server, in io.Reader, out io.Writer) error {
	err := srv.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		return nil
	}
	return err
}

// nopCloser leaves the output open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

package postgres

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat"
)

// How bytes are stored.
const (
	codecRaw  = 0
	codecZstd = 1
)

// packed is a body or a text as it is stored.
type packed struct {
	size  int
	codec int
	data  []byte
}

// One encoder and one decoder serve all stores: both keep pools inside and are safe
// for concurrent use. The hash of the content makes zstd's own checksum superfluous.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedDefault),
			zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		// The capacity of the destination is the limit: no bombs.
		d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// pack compresses if that helps.
func pack(content []byte) packed {
	const least = 96 // below this a frame saves nothing
	if len(content) >= least {
		if z := encoder().EncodeAll(content, make([]byte, 0, len(content)/2)); len(z) < len(content)-len(content)/16 {
			return packed{len(content), codecZstd, z}
		}
	}
	return packed{len(content), codecRaw, content}
}

// unpack returns the content in a slice of its own, if it has the size and the hash
// that it must have. The size must come from a checked record.
func (p packed) unpack(size int, hash pleat.Hash) ([]byte, error) {
	if p.size != size {
		return nil, fmt.Errorf("is recorded with %d bytes, want %d", p.size, size)
	}
	var content []byte
	switch p.codec {
	case codecRaw:
		content = append(make([]byte, 0, len(p.data)), p.data...)
	case codecZstd:
		var err error
		if content, err = decoder().DecodeAll(p.data, make([]byte, 0, size)); err != nil {
			return nil, fmt.Errorf("does not decompress: %w", err)
		}
	default:
		return nil, fmt.Errorf("is stored in the unknown form %d", p.codec)
	}
	if len(content) != size {
		return nil, fmt.Errorf("has %d bytes, want %d", len(content), size)
	}
	if got := pleat.HashOf(content); got != hash {
		return nil, fmt.Errorf("has hash %v", got)
	}
	return content, nil
}

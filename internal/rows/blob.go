package rows

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/pleat-dev/pleat/transcript"
)

// How bytes are stored.
const (
	codecRaw    = 0
	codecZstd   = 1
	codecSnappy = 2
	codecPlaces = 3
)

// Blob is a body or a text as it is stored.
type Blob struct {
	Size  int // of the content
	Codec int // 0: Data is the content; 1: one zstd frame of it; 2: one Snappy block of it; 3: places in a body
	Data  []byte
}

// One encoder and one decoder serve all stores: both keep pools inside and are safe
// for concurrent use. The hash of the content makes zstd's own checksum superfluous.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		// The fastest level: half the time of the next one, for a tenth more space.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithWindowSize(1<<20))
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

// Pack compresses if that helps.
func Pack(content []byte) Blob {
	return packed(content, codecZstd, func() []byte {
		return encoder().EncodeAll(content, make([]byte, 0, min(len(content)/2, mostAhead)))
	})
}

// PackQuick compresses for a store that a person waits for. Most messages are short, and
// zstd spends most of its time on them building tables: up to 64 KiB Snappy takes its
// place, in a third of the time for a quarter more space. Larger content has the most to
// save and is compressed by [Pack].
func PackQuick(content []byte) Blob {
	const large = 64 << 10
	if len(content) >= large {
		return Pack(content)
	}
	return packed(content, codecSnappy, func() []byte {
		return s2.EncodeSnappy(make([]byte, 0, s2.MaxEncodedLen(len(content))), content)
	})
}

// mostAhead bounds the memory that is allocated ahead for a packed form.
const mostAhead = 4 << 20

// leastPacked is the size below which packing saves nothing.
const leastPacked = 96

// packed returns the packed form if it is worth unpacking.
func packed(content []byte, codec int, compress func() []byte) Blob {
	if len(content) >= leastPacked {
		if z := compress(); len(z) < len(content)-len(content)/16 {
			return Blob{len(content), codec, z}
		}
	}
	return Blob{len(content), codecRaw, content}
}

// Unpack returns the content in a slice of its own, if it has the size and the hash
// that it must have. The size must come from a checked record.
func (p Blob) Unpack(size int, hash transcript.Hash) ([]byte, error) {
	if p.Size != size {
		return nil, fmt.Errorf("is recorded with %d bytes, want %d", p.Size, size)
	}
	var content []byte
	var err error
	switch p.Codec {
	case codecRaw:
		content = append(make([]byte, 0, len(p.Data)), p.Data...)
	case codecZstd:
		content, err = decoder().DecodeAll(p.Data, make([]byte, 0, size))
	case codecSnappy:
		var n int
		if n, err = s2.DecodedLen(p.Data); err == nil && n != size { // before allocating it
			return nil, fmt.Errorf("has %d bytes, want %d", n, size)
		}
		if err == nil {
			content, err = s2.Decode(make([]byte, size), p.Data)
		}
	default:
		return nil, fmt.Errorf("is stored in the unknown form %d", p.Codec)
	}
	if err != nil {
		return nil, fmt.Errorf("does not decompress: %w", err)
	}
	return checked(content, size, hash)
}

// checked returns content if it has the size and the hash that it must have.
func checked(content []byte, size int, hash transcript.Hash) ([]byte, error) {
	if len(content) != size {
		return nil, fmt.Errorf("has %d bytes, want %d", len(content), size)
	}
	if got := transcript.HashOf(content); got != hash {
		return nil, fmt.Errorf("has hash %v", got)
	}
	return content, nil
}

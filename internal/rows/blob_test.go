package rows_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pleat-dev/pleat/internal/rows"
	"github.com/pleat-dev/pleat/transcript"
)

func TestPack(t *testing.T) {
	for _, content := range []string{
		"", "short", strings.Repeat("the same line again\n", 500), strings.Repeat("a large body ", 5_000),
		"\x00\xff" + strings.Repeat("x", 90),
	} {
		for _, b := range []rows.Blob{
			rows.Pack([]byte(content)), rows.PackQuick([]byte(content)),
		} {
			got, err := b.Unpack(len(content), transcript.HashOf(content))
			if err != nil || string(got) != content {
				t.Errorf("round trip of %d bytes: %v", len(content), err)
			}
			if len(content) > 1_000 && len(b.Data) >= len(content)/2 {
				t.Errorf("%d bytes packed to %d", len(content), len(b.Data))
			}
		}
	}
}

// Whatever is wrong with stored bytes is an error, never content.
func TestUnpackRefuses(t *testing.T) {
	content := []byte(strings.Repeat("the same line again\n", 500))
	refuses(t, content, rows.Pack(content))
	refuses(t, content, rows.PackQuick(content))
}

func refuses(t *testing.T, content []byte, good rows.Blob) {
	t.Helper()
	hash := transcript.HashOf(content)
	flipped := bytes.Clone(good.Data)
	flipped[len(flipped)/2] ^= 1
	for name, b := range map[string]rows.Blob{
		"other size":   {Size: good.Size - 1, Codec: good.Codec, Data: good.Data},
		"cut":          {Size: good.Size, Codec: good.Codec, Data: good.Data[:len(good.Data)-3]},
		"bit flipped":  {Size: good.Size, Codec: good.Codec, Data: flipped},
		"unknown form": {Size: good.Size, Codec: 9, Data: good.Data},
		"not packed":   {Size: good.Size, Codec: 0, Data: good.Data},
	} {
		if _, err := b.Unpack(len(content), hash); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := good.Unpack(len(content), transcript.HashOf("else")); err == nil {
		t.Error("other hash: no error")
	}
}

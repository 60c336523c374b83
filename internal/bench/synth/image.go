package synth

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"

	"github.com/pleat-dev/pleat/transcript"
)

// screenshot is a small picture of noise in black and white. It is written here and not by
// image/png, whose bytes may change with the Go release.
func (s *synth) screenshot() transcript.Image {
	width, height := 8*s.between(20, 60), s.between(80, 300)
	var pixels bytes.Buffer
	for range height {
		pixels.WriteByte(0) // no filter
		for range width / 8 {
			pixels.WriteByte(byte(s.r.IntN(256)))
		}
	}
	raw := pixels.Bytes()
	data := []byte{0x78, 0x01, 0x01} // zlib, one stored block: at most 300 rows of 61 bytes
	data = binary.LittleEndian.AppendUint16(data, uint16(len(raw)))
	data = binary.LittleEndian.AppendUint16(data, ^uint16(len(raw)))
	data = append(data, raw...)
	data = binary.BigEndian.AppendUint32(data, adler32.Checksum(raw))

	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	head = append(head, 1, 0, 0, 0, 0) // one bit, grey

	png := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name string
		body []byte
	}{{"IHDR", head}, {"IDAT", data}, {"IEND", nil}} {
		png = binary.BigEndian.AppendUint32(png, uint32(len(c.body)))
		chunk := append([]byte(c.name), c.body...)
		png = append(png, chunk...)
		png = binary.BigEndian.AppendUint32(png, crc32.ChecksumIEEE(chunk))
	}
	return transcript.Image{MediaType: "image/png", Data: transcript.Plain(base64.StdEncoding.EncodeToString(png))}
}

package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pleat-dev/pleat/store"
)

// The write-ahead log of SQLite: a header, then frames of a header and a page each. The
// checksum of a frame continues that of the frame before it.
const (
	walMagic       = 0x377f0682
	walHeaderSize  = 32
	walFrameHeader = 24
)

// checkLog looks for damage in the log that a killed process left behind.
//
// SQLite reads the log up to the first frame with a bad checksum and drops the rest. That
// is right for a torn write, and wrong for a flipped bit in the middle, after which there
// may be records that were acknowledged. The two can be told apart: every commit is synced
// before the next one begins, so only the newest commit can be torn. Two commits of the
// same log after a bad frame mean damage.
func checkLog(path string) error {
	var bad int64
	for range 3 { // another process may be writing while this one reads
		log, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if bad = badFrame(log); bad == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s: frame at byte %d is damaged, and records follow it: %w", path, bad, store.ErrCorrupt)
}

// badFrame returns the position of a frame that is damaged rather than torn, or 0.
func badFrame(log []byte) int64 {
	if len(log) < walHeaderSize {
		return 0
	}
	var order binary.ByteOrder = binary.LittleEndian
	magic := binary.BigEndian.Uint32(log)
	if magic&1 != 0 {
		order = binary.BigEndian
	}
	page := int(binary.BigEndian.Uint32(log[8:]))
	s0, s1 := walSum(order, 0, 0, log[:24])
	if magic&^1 != walMagic || page < 512 || page > 65536 ||
		s0 != binary.BigEndian.Uint32(log[24:]) || s1 != binary.BigEndian.Uint32(log[28:]) {
		return badHeader(log)
	}
	salt := string(log[16:24])
	bad, commits := int64(0), 0
	for at := walHeaderSize; at+walFrameHeader+page <= len(log); at += walFrameHeader + page {
		frame := log[at : at+walFrameHeader+page]
		if bad == 0 {
			s0, s1 = walSum(order, s0, s1, frame[:8])
			s0, s1 = walSum(order, s0, s1, frame[walFrameHeader:])
			if string(frame[8:16]) == salt &&
				s0 == binary.BigEndian.Uint32(frame[16:]) && s1 == binary.BigEndian.Uint32(frame[20:]) {
				continue
			}
			bad = int64(at)
		}
		if string(frame[8:16]) == salt && binary.BigEndian.Uint32(frame[4:]) != 0 {
			commits++
		}
	}
	if commits < 2 {
		return 0
	}
	return bad
}

// badHeader judges a log whose header has a bad checksum. SQLite ignores such a log. The
// header is written and synced before the first frame, so frames that all have the same
// salt and hold two commits were part of a good log.
func badHeader(log []byte) int64 {
	const page = pageSize
	commits := make(map[string]int)
	for at := walHeaderSize; at+walFrameHeader+page <= len(log); at += walFrameHeader + page {
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			commits[string(log[at+8:at+16])]++
		}
	}
	if len(commits) == 1 {
		for _, n := range commits {
			if n >= 2 {
				return 1
			}
		}
	}
	return 0
}

// walSum is SQLite's checksum over pairs of 32-bit words.
func walSum(order binary.ByteOrder, s0, s1 uint32, data []byte) (uint32, uint32) {
	for i := 0; i+8 <= len(data); i += 8 {
		s0 += order.Uint32(data[i:]) + s1
		s1 += order.Uint32(data[i+4:]) + s0
	}
	return s0, s1
}

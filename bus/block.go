package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/minio/highwayhash"
	"github.com/nats-io/nats-server/v2/server"
)

// A file of a stream, a block, contains one record after another, in little endian: length (4), sequence (8), time (8), length of
// the subject (2), subject, and where the highest bit of the length is set length of the headers (4) and headers; then the data
// and a hash (8) of all but the lengths. A block that is full can be compressed as a whole.
const (
	recordHead  = 22
	recordHash  = 8
	maxRecord   = 2 << 20 // the server takes messages of 1 MiB
	withHeaders = 1 << 31 // in a length
	removed     = 3 << 62 // in a sequence: the record removes a message
	maxStep     = 1 << 24 // between two sequences of a block; more are no sequences
)

// record is one message, as a block has it.
type record struct {
	seq          uint64
	time         int64
	subject      string
	header, data []byte
	size         int
}

// hasher checks the records of one block.
type hasher struct{ hash hash.Hash64 }

func newHasher(stream string, block uint32) (hasher, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, block))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		return hasher{}, fmt.Errorf("make the hash of a block: %w", err)
	}
	return hasher{h}, nil
}

// record reads the record that bytes begin with. It is false where they begin with none that is sound.
func (h hasher) record(b []byte) (r record, ok bool) {
	if len(b) < recordHead+recordHash {
		return r, false
	}
	length, subject := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint16(b[20:]))
	r.size = int(length &^ withHeaders)
	from, end := recordHead+subject, r.size-recordHash
	headed := length&withHeaders != 0
	if headed {
		from += 4
	}
	if r.size > min(len(b), maxRecord) || from > end {
		return r, false
	}
	h.hash.Reset()
	for _, part := range [][]byte{b[4:20], b[recordHead : recordHead+subject], b[from:end]} {
		_, _ = h.hash.Write(part) // a hash takes everything
	}
	if h.hash.Sum64() != binary.LittleEndian.Uint64(b[end:]) {
		return r, false
	}
	r.seq = binary.LittleEndian.Uint64(b[4:])
	r.time = int64(binary.LittleEndian.Uint64(b[12:]))
	r.subject, r.data = string(b[recordHead:recordHead+subject]), b[from:end]
	if headed {
		// The hash does not cover this length.
		n := int(binary.LittleEndian.Uint32(b[from-4:]))
		if n > len(r.data) || !bytes.HasSuffix(r.data[:n], []byte("\r\n\r\n")) {
			return r, false
		}
		r.header, r.data = r.data[:n], r.data[n:]
	}
	return r, true
}

// place is where a message is in the store.
type place struct {
	seq     uint64
	subject string
	block   int  // among those of the stream, or inCopy
	at      int  // in the block, decompressed, or in the copy
	size    int  // in the copy
	gone    bool // it is none: the message of this sequence was removed
}

const inCopy = -1

// chain reads the records of a block, whose sequences grow. The first of a block may have any: a restore goes on far
// behind the last one, in a block of its own. newest is the newest sequence then, end is behind the last record.
func (h hasher) chain(b []byte, after uint64) (found []place, newest uint64, end int) {
	for at := 0; ; {
		r, ok := h.record(b[at:])
		seq, gone := r.seq&^removed, r.seq&removed != 0
		if !ok || !gone && (seq <= after || at > 0 && seq-after > maxStep) {
			return found, after, at
		}
		found = append(found, place{seq: seq, subject: r.subject, at: at, gone: gone})
		after = max(after, seq) // also of one that stands for positions without messages
		at += r.size
	}
}

// places finds the records of a block up to damage: what follows that in the block is not trusted, as an agent can have written
// what looks like records. The newest block may end in a record that was cut off while it was written: that was never
// acknowledged, and is no damage.
func (h hasher) places(b []byte, after uint64, newest bool) (found []place, damaged bool) {
	found, after, end := h.chain(b, after)
	rest := b[end:]
	if len(rest) == 0 || newest && len(rest) < recordHead {
		return found, false
	}
	cutOff := newest && int(binary.LittleEndian.Uint32(rest)&^withHeaders) > len(rest) &&
		binary.LittleEndian.Uint64(rest[4:]) == after+1
	return found, !cutOff
}

// decompress returns the content of a block.
func decompress(b []byte) ([]byte, error) {
	var info server.CompressionInfo
	n, err := info.UnmarshalMetadata(b)
	if err != nil || n == 0 {
		return b, err
	}
	return info.Algorithm.Decompress(b[n:])
}

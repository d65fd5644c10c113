package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxUnpacked bounds what the objects of a pack have together, in bytes: trees of large directories are much more than it.
const maxUnpacked = 2 << 30

// weigh looks through a pack (gitformat-pack) for how large its objects will be, before git unpacks any. width is that of an id.
func weigh(pack []byte, width int) error {
	if len(pack) > MaxPack {
		return ErrTooLarge
	}
	if len(pack) < 12 {
		return fmt.Errorf("%w: it ends in its header", ErrPack)
	}
	s := scale{in: bytes.NewReader(pack[12:]), width: width}
	total := uint64(0)
	for n := range binary.BigEndian.Uint32(pack[8:]) {
		size, most, err := s.next()
		if err != nil {
			return fmt.Errorf("%w: object %d: %w", ErrPack, n, err)
		}
		if total += size; size > most || total > maxUnpacked {
			return fmt.Errorf("its object %d has %d bytes of %d that are allowed, and all up to it %d of %d: %w",
				n, size, most, total, maxUnpacked, ErrTooLarge)
		}
	}
	return nil
}

// The types of objects in a pack that matter: commits, files, tags, and differences, from an object before or from a named one.
const (
	packedCommit = 1
	packedBlob   = 3
	packedTag    = 4
	deltaBefore  = 6
	deltaNamed   = 7
)

// scale weighs the objects of a pack one after the other.
type scale struct {
	in interface {
		io.Reader
		io.ByteReader
	}
	width int
	past  bool // only whole commits and tags are allowed
	z     io.ReadCloser
}

// next returns the size of the next object, and how many bytes it may have. One that has more is not read.
func (s *scale) next() (size, most uint64, err error) {
	head, err := s.in.ReadByte()
	size, most = uint64(head&15), maxTree
	if err == nil && head&0x80 != 0 {
		var more uint64
		more, err = binary.ReadUvarint(s.in)
		size |= min(more, maxUnpacked) << 4
	}
	kind := head >> 4 & 7
	if s.past {
		if most = maxPastObject; err == nil && kind != packedCommit && kind != packedTag {
			err = fmt.Errorf("an object of type %d is no whole commit or tag", kind)
		}
	}
	switch kind {
	case packedBlob:
		most = MaxBlob
	case deltaBefore:
		for b := byte(0x80); err == nil && b&0x80 != 0; {
			b, err = s.in.ReadByte()
		}
	case deltaNamed:
		_, err = io.CopyN(io.Discard, s.in, int64(s.width))
	}
	if err != nil || size > most {
		return size, most, err
	}
	if r, again := s.z.(zlib.Resetter); again {
		err = r.Reset(s.in, nil)
	} else {
		s.z, err = zlib.NewReader(s.in)
	}
	if err != nil {
		return 0, 0, err
	}
	own, content := size, io.Reader(s.z)
	if kind == deltaBefore || kind == deltaNamed { // it begins with the sizes of both
		both := bufio.NewReader(s.z)
		if _, err = binary.ReadUvarint(both); err == nil {
			size, err = binary.ReadUvarint(both)
		}
		content = both
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, content, int64(own)+1)
	}
	switch {
	case err == nil:
		return 0, 0, errors.New("it does not end where it says")
	case errors.Is(err, io.EOF):
		err = nil
	}
	return max(size, own), most, err
}

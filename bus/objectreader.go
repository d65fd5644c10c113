package bus

import (
	"encoding/hex"
	"fmt"
	"hash"
	"io"
)

// objectReader reads an object piece by piece. It belongs to one goroutine.
type objectReader struct {
	piece []byte                           // what is at hand
	list  manifest                         // Pieces: those still to come
	next  func(key string) ([]byte, error) // nil when piece is all
	whole hash.Hash
	got   int64
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.piece) == 0 {
		if len(r.list.Pieces) == 0 {
			return 0, r.end()
		}
		piece, err := r.next(r.list.Pieces[0])
		if err != nil {
			return 0, err
		}
		r.whole.Write(piece)
		r.got += int64(len(piece))
		r.piece, r.list.Pieces = piece, r.list.Pieces[1:]
	}
	n := copy(p, r.piece)
	r.piece = r.piece[n:]
	return n, nil
}

// end is io.EOF if what was read is the object.
func (r *objectReader) end() error {
	if r.next == nil {
		return io.EOF
	}
	if r.got != r.list.Size || hex.EncodeToString(r.whole.Sum(nil)) != r.list.SHA256 {
		return fmt.Errorf("%w: the object is damaged: %d bytes of %d, or another sum", ErrUnavailable, r.got, r.list.Size)
	}
	return io.EOF
}

package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxObject bounds an object that is put or got as a whole, in bytes. A manifest can name one piece many times: who reads it must
// not run out of memory.
const MaxObject = 512 << 20

const (
	objectPiece = 1000 << 10 // as much as fits into one message of 1 MiB with its headers: each costs one fsync
	maxName     = 512

	// headerManifest marks a message whose data is a manifest and not the object itself.
	headerManifest = "Divisi-Manifest"

	nameToken  = ".n." // the object, or its manifest
	pieceToken = ".p." // by its SHA-256: a piece of a larger one
)

// objectStore is a stream of objects.
type objectStore struct {
	*Bus
	stream jetstream.Stream
	prefix string // of its subjects
}

func (b *Bus) kept() objectStore { return objectStore{b, b.objects, prefixObject} }

// objectsOf is where the objects of a run are, obj.r.<run>, or those of none: obj.
func objectsOf(prefix, run string) string {
	if run == "" {
		return prefix
	}
	return subject(prefix, "r", run)
}

// manifest lists the pieces of an object that does not fit into one message. It is stored after they are, so a name
// is either the name of a whole object or of none; pieces that a dead writer left are used by the next who puts the same.
type manifest struct {
	Size   int64    `json:"size"`
	SHA256 string   `json:"sha256"`
	Pieces []string `json:"pieces"` // SHA-256 of each, in order
}

// Put binds name to data for good. Putting the same bytes again is no error; other bytes are ErrExists. A name is 1 to
// 512 bytes, any bytes. Less than 1000 KiB are one message, and so one write to the disk.
func (b *Bus) Put(ctx context.Context, name string, data []byte) error {
	if err := b.kept().put(ctx, name, data); err != nil {
		return fmt.Errorf("put object %.80q: %w", name, err)
	}
	return nil
}

func (s objectStore) put(ctx context.Context, name string, data []byte) error {
	subject, err := objectSubject(objectsOf(s.prefix, s.run), name)
	if err != nil {
		return err
	}
	if err := fits(int64(len(data))); err != nil {
		return err
	}
	if len(data) < objectPiece {
		return s.bind(ctx, &nats.Msg{Subject: subject, Data: data})
	}
	return s.putPieces(ctx, subject, bytes.NewReader(data))
}

// fits refuses an object that is too large to be held in memory.
func fits(size int64) error {
	if size > MaxObject {
		return fmt.Errorf("%w: the object has %d bytes, at most %d", ErrTooLarge, size, MaxObject)
	}
	return nil
}

// putPieces stores what a reader has, piece by piece, and then the manifest.
func (s objectStore) putPieces(ctx context.Context, subject string, r io.Reader) error {
	list, whole, buffer := manifest{}, sha256.New(), make([]byte, objectPiece)
	for end := false; !end; {
		n, err := io.ReadFull(r, buffer)
		end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return fmt.Errorf("read piece %d: %w", len(list.Pieces), err)
		}
		if n == 0 {
			break
		}
		piece := buffer[:n]
		key := sumOf(piece)
		at := objectsOf(s.prefix, s.run) + pieceToken + key
		_, err = s.publish(ctx, s.stream, &nats.Msg{Subject: at, Data: piece}, at, 0)
		if err != nil && !errors.Is(err, ErrFenced) { // fenced: the same bytes are there already
			return fmt.Errorf("store piece %d: %w", len(list.Pieces), err)
		}
		_, _ = whole.Write(piece) // a hash takes all
		list.Pieces, list.Size = append(list.Pieces, key), list.Size+int64(n)
	}
	list.SHA256 = hex.EncodeToString(whole.Sum(nil))
	data, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	return s.bind(ctx, &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerManifest: {"1"}}})
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// bind stores the message of a name unless it has one; two that are the same are as good as one.
func (s objectStore) bind(ctx context.Context, m *nats.Msg) error {
	_, err := s.publish(ctx, s.stream, m, m.Subject, 0)
	if !errors.Is(err, ErrFenced) {
		return err
	}
	have, err := s.newest(ctx, s.stream, m.Subject)
	if err != nil {
		return err
	}
	if have == nil || have.Header.Get(headerManifest) != m.Header.Get(headerManifest) || !bytes.Equal(have.Data, m.Data) {
		return ErrExists
	}
	return nil
}

// Get is the whole object; ErrNotFound when the name is not bound.
func (b *Bus) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := b.kept().get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get object %.80q: %w", name, err)
	}
	return data, nil
}

func (s objectStore) get(ctx context.Context, name string) ([]byte, error) {
	data, list, err := s.find(ctx, name)
	if err != nil || list == nil {
		return data, err
	}
	if err := fits(list.Size); err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(make([]byte, 0, list.Size))
	if err := s.copyPieces(ctx, list, out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// find is an object that is one message, or the manifest of one that is not.
func (s objectStore) find(ctx context.Context, name string) ([]byte, *manifest, error) {
	subject, err := objectSubject(objectsOf(s.prefix, s.run), name)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.newest(ctx, s.stream, subject)
	if err != nil {
		return nil, nil, err
	}
	if m == nil {
		return nil, nil, ErrNotFound
	}
	if m.Header.Get(headerManifest) == "" {
		return m.Data, nil, nil
	}
	var list manifest
	if err := json.Unmarshal(m.Data, &list); err != nil {
		return nil, nil, fmt.Errorf("%w: decode the manifest: %w", ErrBroken, err)
	}
	if list.Size < 0 || list.Size > int64(len(list.Pieces))*objectPiece {
		return nil, nil, fmt.Errorf("%w: its manifest has %d bytes in %d pieces", ErrBroken, list.Size, len(list.Pieces))
	}
	return nil, &list, nil
}

// copyPieces writes the pieces of an object, the last one only when all of them together have its size and its sum: what is not
// whole never ends as an object does.
func (s objectStore) copyPieces(ctx context.Context, list *manifest, w io.Writer) error {
	pieces, whole, size := objectsOf(s.prefix, s.run)+pieceToken, sha256.New(), int64(0)
	var last []byte
	for _, key := range list.Pieces {
		piece, err := s.getPiece(ctx, pieces, key)
		if err != nil {
			return err
		}
		_, _ = whole.Write(piece) // a hash takes all
		if size += int64(len(piece)); size > list.Size {
			break
		}
		if _, err := w.Write(last); err != nil {
			return err
		}
		last = piece
	}
	if size != list.Size || hex.EncodeToString(whole.Sum(nil)) != list.SHA256 {
		return fmt.Errorf("%w: %d bytes of %d, or another sum", ErrBroken, size, list.Size)
	}
	_, err := w.Write(last)
	return err
}

func (s objectStore) getPiece(ctx context.Context, pieces, key string) ([]byte, error) {
	m, err := s.newest(ctx, s.stream, pieces+key)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%w: piece %s is missing", ErrBroken, key)
	}
	if sumOf(m.Data) != key {
		return nil, fmt.Errorf("%w: piece %s is damaged", ErrBroken, key)
	}
	return m.Data, nil
}

// objectSubject keeps letters, digits, - and _ of a name and writes every other byte as =XX, so that each name has one
// subject and each subject one name.
func objectSubject(of, name string) (string, error) {
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("%w: an object's name has 1 to %d bytes, not %d", ErrSubject, maxName, len(name))
	}
	var s strings.Builder
	s.WriteString(of + nameToken)
	for i := range len(name) {
		if c := name[i]; tokenByte(c) {
			s.WriteByte(c)
		} else {
			fmt.Fprintf(&s, "=%02X", c)
		}
	}
	return s.String(), nil
}

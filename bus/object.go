package bus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxObject bounds an object, in bytes. A manifest can name one piece many times: who reads it must not run out of memory.
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
	if err := s.fits(int64(len(data))); err != nil {
		return err
	}
	m := &nats.Msg{Subject: subject, Data: data}
	if len(data) >= objectPiece {
		list, err := s.putPieces(ctx, data)
		if err != nil {
			return err
		}
		if m.Data, err = json.Marshal(list); err != nil {
			return fmt.Errorf("encode the manifest: %w", err)
		}
		m.Header = nats.Header{headerManifest: {"1"}}
	}
	return s.bind(ctx, m)
}

// fits refuses an object that is too large. What can be made again is no larger than those make it who need it.
func (s objectStore) fits(size int64) error {
	if s.prefix == prefixObject && size > MaxObject {
		return fmt.Errorf("%w: the object has %d bytes, at most %d", ErrTooLarge, size, MaxObject)
	}
	return nil
}

func (s objectStore) putPieces(ctx context.Context, data []byte) (manifest, error) {
	list := manifest{Size: int64(len(data)), SHA256: sumOf(data)}
	for piece := range slices.Chunk(data, objectPiece) {
		key := sumOf(piece)
		subject := objectsOf(s.prefix, s.run) + pieceToken + key
		_, err := s.publish(ctx, s.stream, &nats.Msg{Subject: subject, Data: piece}, subject, 0)
		if err != nil && !errors.Is(err, ErrFenced) { // fenced: the same bytes are there already
			return manifest{}, fmt.Errorf("store piece %d: %w", len(list.Pieces), err)
		}
		list.Pieces = append(list.Pieces, key)
	}
	return list, nil
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
	subject, err := objectSubject(objectsOf(s.prefix, s.run), name)
	if err != nil {
		return nil, err
	}
	m, err := s.newest(ctx, s.stream, subject)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ErrNotFound
	}
	if m.Header.Get(headerManifest) == "" {
		return m.Data, nil
	}
	var list manifest
	if err := json.Unmarshal(m.Data, &list); err != nil {
		return nil, fmt.Errorf("%w: decode the manifest: %w", ErrBroken, err)
	}
	if err := s.fits(list.Size); err != nil {
		return nil, err
	}
	if list.Size < 0 || list.Size > int64(len(list.Pieces))*objectPiece {
		return nil, fmt.Errorf("%w: its manifest has %d bytes in %d pieces", ErrBroken, list.Size, len(list.Pieces))
	}
	return s.getPieces(ctx, objectsOf(s.prefix, s.run)+pieceToken, list)
}

func (s objectStore) getPieces(ctx context.Context, pieces string, list manifest) ([]byte, error) {
	data := make([]byte, 0, list.Size)
	for _, key := range list.Pieces {
		piece, err := s.getPiece(ctx, pieces, key)
		if err != nil {
			return nil, err
		}
		if data = append(data, piece...); int64(len(data)) > list.Size {
			break
		}
	}
	if int64(len(data)) != list.Size || sumOf(data) != list.SHA256 {
		return nil, fmt.Errorf("%w: %d bytes of %d, or another sum", ErrBroken, len(data), list.Size)
	}
	return data, nil
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

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

const (
	objectPiece = 1000 << 10 // as much as fits into one message of 1 MiB with its headers: each costs one fsync
	maxName     = 512

	// headerManifest marks a message whose data is a manifest and not the object itself.
	headerManifest = "Divisi-Manifest"

	nameToken  = ".n." // the object, or its manifest
	pieceToken = ".p." // by its SHA-256: a piece of a larger one
)

// objectsOf is where the objects of a run are, obj.r.<run>, or those of none: obj.
func objectsOf(run string) string {
	if run == "" {
		return prefixObject
	}
	return subject(prefixObject, "r", run)
}

// manifest lists the pieces of an object that does not fit into one message. It is stored after they are, so a name
// either stands for a whole object or for none; pieces that a dead writer left are used by the next who puts the same.
type manifest struct {
	Size   int64    `json:"size"`
	SHA256 string   `json:"sha256"`
	Pieces []string `json:"pieces"` // SHA-256 of each, in order
}

// Put binds name to data for good. Putting the same bytes again is no error; other bytes are ErrExists. A name is 1 to
// 512 bytes, any bytes. Up to 1000 KiB are one message, and so one write to the disk.
func (b *Bus) Put(ctx context.Context, name string, data []byte) error {
	return b.PutReader(ctx, name, bytes.NewReader(data))
}

// PutReader is Put for what need not fit into memory. It reads r to its end, and holds one piece at a time.
func (b *Bus) PutReader(ctx context.Context, name string, r io.Reader) error {
	if err := b.putReader(ctx, name, r); err != nil {
		return fmt.Errorf("put object %.80q: %w", name, err)
	}
	return nil
}

func (b *Bus) putReader(ctx context.Context, name string, r io.Reader) error {
	subject, err := objectSubject(b.run, name)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: subject}
	piece := make([]byte, objectPiece)
	n, err := io.ReadFull(r, piece)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		m.Data = piece[:n]
	case err != nil:
		return fmt.Errorf("read the source: %w", err)
	default:
		list, err := b.putPieces(ctx, piece, r)
		if err != nil {
			return err
		}
		if m.Data, err = json.Marshal(list); err != nil {
			return fmt.Errorf("encode the manifest: %w", err)
		}
		m.Header = nats.Header{headerManifest: {"1"}}
	}
	if len(m.Data) > objectPiece {
		return fmt.Errorf("%w: its manifest has %d bytes", ErrTooLarge, len(m.Data))
	}
	return b.bind(ctx, m)
}

// putPieces stores first and the rest of r. It uses first as its buffer.
func (b *Bus) putPieces(ctx context.Context, first []byte, r io.Reader) (manifest, error) {
	whole := sha256.New()
	var list manifest
	for n := len(first); n > 0; {
		piece := first[:n]
		sum := sha256.Sum256(piece)
		key := hex.EncodeToString(sum[:])
		subject := objectsOf(b.run) + pieceToken + key
		_, err := b.publish(ctx, b.objects, &nats.Msg{Subject: subject, Data: piece}, subject, 0)
		if err != nil && !errors.Is(err, ErrFenced) { // fenced: the same bytes are there already
			return manifest{}, fmt.Errorf("store piece %d: %w", len(list.Pieces), err)
		}
		whole.Write(piece)
		list.Size += int64(n)
		list.Pieces = append(list.Pieces, key)
		n, err = io.ReadFull(r, first)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return manifest{}, fmt.Errorf("read the source at %d: %w", list.Size, err)
		}
	}
	list.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return list, nil
}

// bind stores the message of a name unless it has one; two that are the same are as good as one.
func (b *Bus) bind(ctx context.Context, m *nats.Msg) error {
	_, err := b.publish(ctx, b.objects, m, m.Subject, 0)
	if !errors.Is(err, ErrFenced) {
		return err
	}
	have, err := b.newest(ctx, b.objects, m.Subject)
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
	r, err := b.getReader(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get object %.80q: %w", name, err)
	}
	if r.next == nil {
		return r.piece, nil
	}
	data := make([]byte, r.list.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("get object %.80q: %w", name, err)
	}
	// The sums are compared at the end, so the end has to be reached.
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("get object %.80q: not what its manifest says: %w", name, errors.Join(ErrUnavailable, err))
	}
	return data, nil
}

func (b *Bus) getReader(ctx context.Context, name string) (*objectReader, error) {
	m, err := b.named(ctx, b.run, name)
	if m == nil && err == nil && b.run != "" { // of a run made before their subjects carried it
		m, err = b.named(ctx, "", name)
	}
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ErrNotFound
	}
	if m.Header.Get(headerManifest) == "" {
		return &objectReader{piece: m.Data}, nil
	}
	r := &objectReader{whole: sha256.New()}
	if err := json.Unmarshal(m.Data, &r.list); err != nil {
		return nil, fmt.Errorf("decode the manifest: %w", err)
	}
	if r.list.Size < 0 || r.list.Size > int64(len(r.list.Pieces))*objectPiece {
		return nil, fmt.Errorf("%w: the manifest is damaged: %d bytes in %d pieces", ErrUnavailable, r.list.Size,
			len(r.list.Pieces))
	}
	before, _, _ := strings.Cut(m.Subject, nameToken) // no name has a dot
	pieces := before + pieceToken
	r.next = func(key string) ([]byte, error) { return b.getPiece(ctx, pieces, key) }
	return r, nil
}

func (b *Bus) named(ctx context.Context, run, name string) (*jetstream.RawStreamMsg, error) {
	subject, err := objectSubject(run, name)
	if err != nil {
		return nil, err
	}
	return b.newest(ctx, b.objects, subject)
}

func (b *Bus) getPiece(ctx context.Context, pieces, key string) ([]byte, error) {
	m, err := b.newest(ctx, b.objects, pieces+key)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%w: piece %s is missing", ErrUnavailable, key)
	}
	if sum := sha256.Sum256(m.Data); hex.EncodeToString(sum[:]) != key {
		return nil, fmt.Errorf("%w: piece %s is damaged", ErrUnavailable, key)
	}
	return m.Data, nil
}

// objectSubject keeps letters, digits, - and _ of a name and writes every other byte as =XX, so that each name has one
// subject and each subject one name.
func objectSubject(run, name string) (string, error) {
	if name == "" || len(name) > maxName {
		return "", fmt.Errorf("%w: an object's name has 1 to %d bytes, not %d", ErrSubject, maxName, len(name))
	}
	var s strings.Builder
	s.WriteString(objectsOf(run) + nameToken)
	for i := range len(name) {
		if c := name[i]; tokenByte(c) {
			s.WriteByte(c)
		} else {
			fmt.Fprintf(&s, "=%02X", c)
		}
	}
	return s.String(), nil
}

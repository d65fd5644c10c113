package wire

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
)

// Objects is the part of the bus that sealed objects are read from.
type Objects interface {
	Get(ctx context.Context, name string) ([]byte, error)
}

// ErrSeal reports that an object is not the one that was sealed under its name.
var ErrSeal = errors.New("it differs from the sealed object")

// The kinds of sealed objects: their names begin with them.
const (
	sealedAssignment = "assignment"
	sealedSetup      = "setup"
	// SealedCommits are packs of commits, which a worker's own mirror lacks.
	SealedCommits = "commits"
	// SealedContent are contents of files of Git LFS.
	SealedContent = "lfs"
	// SealedEnvironment are environments that were taken from a checkout.
	SealedEnvironment = "environment"
)

// MaxCommits bounds a sealed pack of commits, in bytes. It is never in memory as a whole.
const MaxCommits = 8 << 30

// Name is the name under which an object is sealed: its kind and its digest.
func Name(kind string, data []byte) string {
	sum := sha256.Sum256(data)
	return NameOf(kind, sum[:])
}

// NameOf is the name of an object with a SHA-256.
func NameOf(kind string, sum []byte) string { return kind + "-" + hex.EncodeToString(sum) }

// Streams is the part of the bus that sealed objects are copied from.
type Streams interface {
	CopyTo(ctx context.Context, name string, w io.Writer, limit int64) (int64, error)
}

// Copy writes the sealed object of a name, which has size bytes, to w. An object of another kind, of another size or with another
// digest is ErrSeal: what is written by then is of no use.
func Copy(ctx context.Context, objects Streams, kind, name string, size int64, w io.Writer) error {
	if !strings.HasPrefix(name, kind+"-") {
		return fmt.Errorf("%w: %.80q names no %s", ErrSeal, name, kind)
	}
	sum := sha256.New()
	n, err := objects.CopyTo(ctx, name, io.MultiWriter(sum, w), size)
	if err != nil {
		return fmt.Errorf("get %.80s: %w", name, err)
	}
	if have := NameOf(kind, sum.Sum(nil)); have != name || n != size {
		return fmt.Errorf("%w: the name is %.80s, and the digest of the object makes it %s; it has %d bytes of %d",
			ErrSeal, name, have, n, size)
	}
	return nil
}

// Open returns the sealed object of a name. An object of another kind, or with another digest, is ErrSeal.
func Open(ctx context.Context, objects Objects, kind, name string) ([]byte, error) {
	if !strings.HasPrefix(name, kind+"-") {
		return nil, fmt.Errorf("%w: %.80q names no %s", ErrSeal, name, kind)
	}
	data, err := objects.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("get %.80s: %w", name, err)
	}
	if have := Name(kind, data); have != name {
		return nil, fmt.Errorf("%w: the name is %.80s, and the digest of the object makes it %s", ErrSeal, name, have)
	}
	return data, nil
}

// Decode reads JSON of at most 64 MiB, and nothing behind it, and refuses fields that v does not have.
func Decode(data []byte, v any) error {
	if len(data) > maxDecode {
		return fmt.Errorf("it has %d bytes, more than %d", len(data), maxDecode)
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(v); err != nil {
		return err
	}
	if _, err := strict.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one value")
	}
	return nil
}

// Seal returns the assignment as it is stored, and its name, which has the digest of it.
func (a *Assignment) Seal() (name string, data []byte, err error) {
	if data, err = json.Marshal(a); err != nil {
		return "", nil, fmt.Errorf("encode the assignment of %s: %w", a.Agent(), err)
	}
	return Name(sealedAssignment, data), data, nil
}

// Unseal reads what Seal returned from the object store. An object that is not the one of its name is ErrSeal.
func Unseal(ctx context.Context, objects Objects, name string) (*Assignment, error) {
	data, err := Open(ctx, objects, sealedAssignment, name)
	if err != nil {
		return nil, err
	}
	var a Assignment
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("decode %.80s: %w", name, err)
	}
	return &a, nil
}

// Seal returns the setup as it is stored, and its name, which has the digest of it.
func (s *Setup) Seal() (name string, data []byte, err error) {
	if data, err = json.Marshal(s); err != nil {
		return "", nil, fmt.Errorf("encode the setup of run %s: %w", s.Run, err)
	}
	return Name(sealedSetup, data), data, nil
}

// UnsealSetup reads the setup of a run from the object store. One that is not the object of its name, is another run's, has
// fields that this program does not know, or names places outside of its own is ErrSeal.
func UnsealSetup(ctx context.Context, objects Objects, run, name string) (*Setup, error) {
	data, err := Open(ctx, objects, sealedSetup, name)
	if err != nil {
		return nil, err
	}
	s := &Setup{}
	if err = Decode(data, s); err == nil {
		err = s.check(run)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the setup of run %s, %.80s: %w", ErrSeal, run, name, err)
	}
	return s, nil
}

package testnames

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"divisi/contextscope/artifact"
)

// Objects keeps blobs by name, as the bus does. Putting a name again with the same bytes is no error.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	Get(ctx context.Context, name string) ([]byte, error)
}

// errDamaged reports an object that is no list.
var errDamaged = errors.New("the list of tests is damaged")

// Encode writes a list as an object, compressed. The same list has the same bytes.
func (l List) Encode() ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	group := ""
	for _, t := range l {
		line := "\t" + t.Name + "\n"
		if t.Group != group {
			group, line = t.Group, t.Group+"\n"+line
		}
		if _, err := io.WriteString(w, line); err != nil {
			return nil, fmt.Errorf("write a list of tests: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write a list of tests: %w", err)
	}
	return out.Bytes(), nil
}

// Decode reads an object that Encode wrote.
func Decode(data []byte) (l List, err error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read a list of tests: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, 2*maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read a list of tests: %w", err)
	}
	if len(plain) > 2*maxBytes {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errDamaged, 2*maxBytes)
	}
	group := ""
	for line := range strings.Lines(string(plain)) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "\t"); ok {
			l = append(l, Test{group, name})
		} else {
			group = line
		}
	}
	return l, nil
}

// Store puts a list into a store, and returns the name of its object; "" for an empty list.
func Store(ctx context.Context, to Objects, l List) (name string, err error) {
	if len(l) == 0 {
		return "", nil
	}
	data, err := l.Encode()
	if err != nil {
		return "", err
	}
	name = Name(data)
	if err := to.Put(ctx, name, data); err != nil {
		return "", fmt.Errorf("store a list of tests: %w", err)
	}
	return name, nil
}

// Name is that of an object with a list.
func Name(data []byte) string { return "tests-" + artifact.Digest(data) }

// Load returns the tests that are in each of some objects; none for no object.
func Load(ctx context.Context, from Objects, names ...string) (all List, err error) {
	for i, name := range names {
		data, err := from.Get(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("load a list of tests: %w", err)
		}
		one, err := Decode(data)
		if err != nil {
			return nil, fmt.Errorf("load the list of tests %s: %w", name, err)
		}
		if i > 0 {
			one = all.In(one)
		}
		all = one
	}
	return all, nil
}

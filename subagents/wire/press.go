package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"divisi/bus"
)

const (
	// MaxMessage is how many bytes a message of the log holds, as Press leaves it.
	MaxMessage = bus.MaxData
	// maxPlain is the size, in bytes, from which a message is pressed: a message of the bus holds 900,000.
	maxPlain = 768 << 10
	// maxLoose bounds, in bytes, what a pressed message may come to.
	maxLoose = 64 << 20
)

// errLoose says that a pressed message comes to more than a message may.
var errLoose = errors.New("the message is too large")

// gzipMagic begins every pressed message, and no JSON.
var gzipMagic = []byte{0x1f, 0x8b}

// Press returns a message of the log in the form in which it travels: as it is, or, where it would not fit into a message of
// the bus, compressed. A plan of thousands of tasks says the same words thousands of times. What is too large even so is left
// for the bus to refuse.
func Press(data []byte) ([]byte, error) {
	if len(data) <= maxPlain || len(data) > maxLoose {
		return data, nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("press %d bytes: %w", len(data), err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("press %d bytes: %w", len(data), err)
	}
	return out.Bytes(), nil
}

// loosen undoes Press.
func loosen(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, gzipMagic) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("loosen a message: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxLoose+1))
	if err != nil {
		return nil, fmt.Errorf("loosen a message: %w", err)
	}
	if len(out) > maxLoose {
		return nil, fmt.Errorf("%w: more than %d bytes", errLoose, maxLoose)
	}
	return out, nil
}

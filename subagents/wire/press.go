package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"divisi/bus"
)

const (
	// MaxMessage is how many bytes a message of the log holds, as Press leaves it.
	MaxMessage = bus.MaxData
	// maxPlain is the size, in bytes, from which a message is pressed: a message of the bus holds 900,000.
	maxPlain = 768 << 10
	// MaxLoose bounds, in bytes, what a pressed message of the conductor may come to, maxWorker one of a worker, and maxEvents
	// how many events that has: a short message that comes to much, or to many, would take the memory of each reader.
	MaxLoose, maxWorker = 64 << 20, 8 << 20
	maxEvents           = 1024
)

// errLoose reports that a pressed message comes to more than a message may.
var errLoose = errors.New("the message is too large")

// gzipMagic begins every pressed message, and no JSON.
var gzipMagic = []byte{0x1f, 0x8b}

// room is the size limit of a message on a subject, in bytes.
func room(subject string) int {
	if ofWorker(subject) {
		return maxWorker
	}
	return MaxLoose
}

// ofWorker reports whether a worker can write to a subject of the log. "" stands for the conductor's.
func ofWorker(subject string) bool {
	part := strings.Split(subject, ".")
	return subject != "" && (len(part) != 4 || part[2] != "m")
}

// Press returns a message for a subject of the log in the form in which it travels: as it is, or, where it would not fit into a
// message of the bus, compressed. A plan of thousands of tasks says the same words thousands of times. What is too large even so
// is left for the bus to refuse.
func Press(subject string, data []byte) ([]byte, error) {
	if len(data) <= maxPlain || len(data) > room(subject) {
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

// Loosen undoes Press of what no worker can write.
func Loosen(data []byte) ([]byte, error) { return loosen("", data) }

// loosen undoes Press.
func loosen(subject string, data []byte) ([]byte, error) {
	most := room(subject)
	if !bytes.HasPrefix(data, gzipMagic) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("loosen a message: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, fmt.Errorf("loosen a message: %w", err)
	}
	if len(out) > most {
		return nil, fmt.Errorf("%w: more than %d bytes", errLoose, most)
	}
	return out, nil
}

// crowded reports whether a worker's message, which is a JSON array, has more elements than it may have events.
func crowded(subject string, data []byte) bool {
	if !ofWorker(subject) || bytes.Count(data, []byte{','}) < maxEvents {
		return false
	}
	d, n := json.NewDecoder(bytes.NewReader(data)), 0
	if _, err := d.Token(); err != nil {
		return false
	}
	for one := (json.RawMessage{}); d.More() && n <= maxEvents; n++ {
		if d.Decode(&one) != nil {
			return false
		}
	}
	return n > maxEvents
}

package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
)

const (
	// markerFile makes a directory a recording; its name has fewer dots than an exchange's. format is what this program writes.
	markerFile = "recording.json"
	format     = 1
	// embeddingStem is how the files of embeddings begin, which older versions recorded: they are passed over.
	embeddingStem = "embedding-"
	// maxFile bounds what is read of one file: a request has at most some megabytes.
	maxFile = 256 << 20
)

// marker reports what a recording is of.
type marker struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
	// Sessions are the times at which a process began to record.
	Sessions []time.Time `json:"sessions"`
}

// directory is where a recording lies.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

// write puts a file in place, whole or not at all.
func (d directory) write(name string, v any, secrets []string) error {
	data, err := encode(v, secrets)
	if err == nil {
		err = maybe.WriteFile(d.path(name), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path(name), err)
	}
	return nil
}

// read reads one file. A link, a device and what is too large are refused.
func (d directory) read(name string) ([]byte, error) {
	info, err := os.Lstat(d.path(name))
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a plain file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has %d bytes: that is no exchange", name, info.Size())
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// marker reads what the recording is of; fs.ErrNotExist when the directory is none.
func (d directory) marker() (marker, error) {
	var m marker
	data, err := d.read(markerFile)
	if err != nil {
		return m, err
	}
	if err := decode(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", markerFile, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("%s has format %d, and this program reads %d", markerFile, m.Format, format)
	}
	return m, nil
}

// names lists the files of exchanges. What a killed process left half written begins with a dot.
func (d directory) names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, embeddingStem) &&
			name != markerFile {
			out = append(out, name)
		}
	}
	return out, nil
}

// empty reports whether there is nothing at all.
func (d directory) empty() (bool, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(entries) == 0, err
}

package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git names its objects by it
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeLoose writes one object into an object directory as git does and returns its id. Starting a process for a commit
// of 300 bytes would take twenty times as long. format is the length of an id.
func writeLoose(objects string, format int, kind string, content []byte) (string, error) {
	data := append(fmt.Appendf(nil, "%s %d\x00", kind, len(content)), content...)
	id := objectID(format, data)
	dir, path := filepath.Join(objects, id[:2]), filepath.Join(objects, id[:2], id[2:])
	if _, err := os.Lstat(path); err == nil {
		return id, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	tmp, err := writeTemp(dir, data)
	if err != nil {
		return "", err
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", errors.Join(err, os.Remove(tmp))
	}
	return id, nil
}

func objectID(format int, data []byte) string {
	if format == 2*sha256.Size {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(data) //nolint:gosec // git names its objects by it
	return hex.EncodeToString(sum[:])
}

// writeTemp writes compressed data to a file with a name that git knows as unfinished.
func writeTemp(dir string, data []byte) (string, error) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(data); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "tmp_obj_")
	if err != nil {
		return "", err
	}
	_, err = f.Write(packed.Bytes())
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

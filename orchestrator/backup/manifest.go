// Package backup copies the acknowledged state of a server into a directory, also while it serves, and puts such a copy back in
// place of a server that is gone. Its input and output are directories. What can be made again, as queue, caches and work trees,
// is no part of it; nor does it ever change the server that it copies.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/usage"
)

const (
	manifestFile = "manifest.json"
	// Format is that of the backups which this program writes, and the only one that it reads.
	Format = 1
)

// Manifest lists what a backup has. It is written last: a backup without it was cut short.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program that wrote it
	Server  string    `json:"server"`  // the id of the server's state directory
	Time    time.Time `json:"time"`
	// Position is the newest one of the log, Events how many messages that has, Objects how many those of objects are.
	Position uint64 `json:"position"`
	Events   int    `json:"events"`
	Objects  int    `json:"objects"`
	Runs     int    `json:"runs"`
	Files    []File `json:"files"`
	// Empty are the directories that have nothing.
	Empty []string `json:"empty,omitempty"`
	// Sum is the SHA-256 of the manifest without it.
	Sum string `json:"sum,omitempty"`
}

// File is one file of a backup, by its path below the state directory, with slashes.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bytes is the size of all files together.
func (m *Manifest) Bytes() (sum int64) {
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// seal returns the sum of a manifest.
func (m *Manifest) seal() (string, error) {
	bare := *m
	bare.Sum = ""
	data, err := json.Marshal(bare)
	if err != nil {
		return "", fmt.Errorf("encode the manifest: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// write writes the manifest of a directory, and with it ends a backup.
func (m *Manifest) write(dir string) (err error) {
	if m.Sum, err = m.seal(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	part := filepath.Join(dir, manifestFile+".part")
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(append(data, '\n'))
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(dir, manifestFile))
	}
	if err != nil {
		return fmt.Errorf("write the manifest of the backup: %w", err)
	}
	return nil
}

// read reads the manifest of a backup, and refuses one that this program did not write.
func read(dir string) (*Manifest, error) {
	path := filepath.Join(dir, manifestFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage.Errorf("%s has no %s: it is no backup, or was cut short. Take another one", dir, manifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("read the manifest of the backup: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, usage.Errorf("%s is damaged: %v. Take another backup", path, err)
	}
	if m.Format != Format {
		return nil, usage.Errorf("%s has the format %d, of version %s, and this program reads %d: restore it with that version",
			path, m.Format, m.Version, Format)
	}
	if sum, err := m.seal(); err != nil || sum != m.Sum {
		return nil, usage.Errorf("%s is damaged: its sum is another one. Take another backup", path)
	}
	return &m, nil
}

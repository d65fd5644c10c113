package orchestrator

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"divisi/subagents/worker"
)

// keyFile is, in a run's directory, the seed of the key that signs the receipts of the run's own worker. No command sees it.
const keyFile = "worker.key"

// conductorKey is, in a run's directory, the seed of the key that its assignments are signed with.
const conductorKey = "conductor.key"

// takeKey reads the keys of the run. That of its worker is made with the run; one that is lost or damaged is made again, and what
// the old one signed since the last fold proves nothing.
func (h *conduct) takeKey() (err error) {
	if h.signs, err = ownKey(filepath.Join(h.path, conductorKey)); err != nil {
		return fmt.Errorf("take the key of the run: %w", err)
	}
	if h.Elsewhere {
		h.spec.Keys = nil // workers elsewhere bring theirs
		return nil
	}
	key, err := ownKey(filepath.Join(h.path, keyFile))
	if err != nil {
		return fmt.Errorf("take the key of the run's worker: %w", err)
	}
	h.spec.Keys = map[string][]byte{worker.LocalName: publicOf(key)}
	return nil
}

func publicOf(key ed25519.PrivateKey) []byte {
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}

// ownKey reads a key, and makes it where there is none.
func ownKey(path string) (ed25519.PrivateKey, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, key, err = ed25519.GenerateKey(nil); err == nil {
			err = maybe.WriteFile(path, key.Seed(), 0o600)
		}
	}
	return key, err
}

// readKey reads a key; fs.ErrNotExist where the file has none.
func readKey(path string) (ed25519.PrivateKey, error) {
	seed, err := os.ReadFile(path)
	if err == nil && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("%s has no key: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

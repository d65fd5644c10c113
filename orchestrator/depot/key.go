package depot

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2/maybe"
)

// KeyFile is, in a run's directory, the seed of the key that signs the receipts of the run's own worker. No command sees it.
const KeyFile = "worker.key"

// ConductorKey is, in a run's directory, the seed of the key that its assignments are signed with.
const ConductorKey = "conductor.key"

// PublicOf is the public half of a key.
func PublicOf(key ed25519.PrivateKey) []byte {
	public, _ := key.Public().(ed25519.PublicKey)
	return public
}

// OwnKey reads a key, and makes it where there is none.
func OwnKey(path string) (ed25519.PrivateKey, error) {
	key, err := ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, key, err = ed25519.GenerateKey(nil); err == nil {
			err = maybe.WriteFile(path, key.Seed(), 0o600)
		}
	}
	return key, err
}

// ReadKey reads a key; fs.ErrNotExist where the file has none.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	seed, err := os.ReadFile(path)
	if err == nil && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("%s has no key: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

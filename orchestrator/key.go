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

// takeKey reads that key. It is made with the run; one that is lost or damaged is made again, and what the old one signed since
// the last fold proves nothing.
func (h *holder) takeKey() error {
	path := filepath.Join(h.path, keyFile)
	seed, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the key of the run's worker: %w", err)
	}
	if len(seed) == ed25519.SeedSize {
		h.key = ed25519.NewKeyFromSeed(seed)
	} else {
		if _, h.key, err = ed25519.GenerateKey(nil); err == nil {
			err = maybe.WriteFile(path, h.key.Seed(), 0o600)
		}
		if err != nil {
			return fmt.Errorf("make the key of the run's worker: %w", err)
		}
	}
	public, _ := h.key.Public().(ed25519.PublicKey)
	h.spec.Keys = map[string][]byte{worker.LocalName: public}
	return nil
}

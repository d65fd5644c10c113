package orchestrator

import (
	"path/filepath"
)

// sweep removes what only this process needed: the slots, which can be large, and private directories.
func (w *work) sweep() {
	for _, name := range []string{slotsDir, "tmp"} {
		if err := w.trash.Put(filepath.Join(w.path, name)); err != nil {
			w.log.Warn().Err(err).Msg("work trees were left behind")
		}
	}
}

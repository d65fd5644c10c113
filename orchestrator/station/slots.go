package station

import (
	"path/filepath"

	"divisi/orchestrator/depot"
)

// sweep removes what only this process needed: the slots, which can be large, and private directories.
func (w *Work) sweep() {
	for _, name := range []string{depot.SlotsDir, "tmp"} {
		if err := w.Trash.Put(filepath.Join(w.Path, name)); err != nil {
			w.Log.Warn().Err(err).Msg("work trees were left behind")
		}
	}
}

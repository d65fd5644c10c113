package station

import (
	"context"

	"divisi/orchestrator/fit"
)

// environ is the environment that commands take their PATH from.
func (w *Work) environ(ctx context.Context) []string {
	if w.Environ != nil {
		return w.Environ
	}
	environ, notes := fit.Environ(ctx, w.Setup)
	for _, n := range notes {
		w.Notice("note: " + n)
	}
	return environ
}

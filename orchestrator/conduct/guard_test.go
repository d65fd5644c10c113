package conduct

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// A panic of one run is an error of that run.
func TestAPanicIsAnErrorOfItsRun(t *testing.T) {
	t.Parallel()
	h := &Half{Ordered: true, Spec: run.Spec{Run: "r1"}}
	err := h.from().guard(func() error { panic("no such task") })
	require.ErrorContains(t, err, "conduct run r1: panic: no such task")
	h.Ordered = false
	require.Panics(t, func() { _ = h.from().guard(func() error { panic("here it ends the program") }) })
}

package team

import (
	"testing"

	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func newBench(t testing.TB, change func(*Config)) *tooltest.Bench {
	t.Helper()
	var c Config
	if change != nil {
		change(&c)
	}
	tools, err := Tools(c)
	require.NoError(t, err)
	return (&tooltest.Bench{T: t}).Use(tools...)
}

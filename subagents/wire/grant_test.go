package wire

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A worker of version 12 goes on under a budget in tokens, and a run with one in money does not count on it.
func TestHoldingsOfVersion12(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/holding-12.json")
	require.NoError(t, err)
	var h Holding
	require.NoError(t, json.Unmarshal(data, &h))
	require.NoError(t, h.Check())
	require.Equal(t, Holding{Worker: "w1", Session: "s", Seq: 3, Granted: 8000, Spent: 2000, Base: 100, Need: 500}, h)
	c := NewConducting("r1", "v1")
	require.Empty(t, c.Under(spec.Tokens(10), spec.Budget{}).Incompatible("w1", "v0", 12))
	require.Contains(t, c.Under(spec.Budget{Amount: 10, Money: true}, spec.Budget{}).Incompatible("w1", "v0", 12), "speaks version 12")
	require.Contains(t, c.Under(spec.Budget{}, spec.Tokens(10)).Incompatible("w1", "v0", 13), "speaks version 13")
	require.Empty(t, c.Under(spec.Budget{}, spec.Tokens(10)).Incompatible("w1", "v1", 14))
}

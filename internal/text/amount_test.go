package text

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": -time.Second, "59s": 59 * time.Second, "1m": 119 * time.Second, "47h": 48*time.Hour - 1, "2d": 48 * time.Hour,
	} {
		require.Equal(t, want, Age(d))
	}
}

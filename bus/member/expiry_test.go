package member

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheEndOfACertificateIsToldInTime(t *testing.T) {
	t.Parallel()
	ends := time.Date(2027, 3, 15, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for left, want := range map[time.Duration]string{
		365 * day: "", 14*day + 1: "",
		14 * day: "ends on 2027-03-15T12:00:00Z, in 14 days.", day - 1: "in 0 days.",
		0: "ended on 2027-03-15T12:00:00Z, and no member can connect", -day: "ended on",
	} {
		if text := Expiry(ends, ends.Add(-left)); want == "" {
			require.Empty(t, text, left)
		} else {
			require.Contains(t, text, want)
		}
	}
}

package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADiskIsMeasuredWhereTheBoundCanBeNear(t *testing.T) {
	t.Parallel()
	require.Nil(t, NewDisk(0))
	d := NewDisk(1024)
	look := func(more, lost int64, measure bool) {
		t.Helper()
		l, m := d.look(more)
		require.Equal(t, lost, l)
		require.Equal(t, measure, m)
	}
	look(400, 400, false)
	look(112, 512, false)
	look(1, 513, true)
	require.Nil(t, d.take(300, 513, true), "the rest was lost to others")
	look(362, 362, false)
	look(1, 363, true)
	require.Nil(t, d.take(1020, 363, true))
	look(16, 16, false) // however near the bound is, a sixty-fourth of it has to go before the next
	look(1, 17, true)
	look(5, 22, true) // another command, while the first one measures
	require.Nil(t, d.take(1021, 17, true))
	look(0, 5, false)
	require.Equal(t, &Excess{Wrote: 1026, Most: 1024}, d.take(10, 5, false), "what cannot be read may have all that was lost")
	require.Nil(t, d.take(10, 0, true), "the commands after it have removed most")
	require.Equal(t, &Excess{Wrote: 1025, Most: 1024}, d.take(1025, 0, true))
	require.Equal(t, "the commands of the attempt have written 21 MiB to the disk, and may write 20 MiB (limits.disk_mib in worker.yaml)",
		(&Excess{Wrote: 20<<20 + 1, Most: 20 << 20}).String())
}

package bus

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

func TestAFullStoreIsToldInTime(t *testing.T) {
	t.Parallel()
	var f filling
	for _, c := range []struct {
		used int64
		told string
	}{
		{0, ""},
		{79, ""},
		{80, "has 80 MiB, 80 % of the 100 MiB that it can have"},
		{94, ""},
		{80, ""},
		{96, "has 96 MiB, 96 % of"},
		{100, ""},
		{94, ""},
		{95, "has 95 MiB, 95 %"}, // again, as it fell below
		{79, ""},
		{97, "97 %"},
		{80, ""},
		{10, ""},
		{81, "81 %"},
	} {
		got := f.at(c.used<<20, 100<<20)
		if c.told == "" {
			require.Empty(t, got, c.used)
		} else {
			require.Contains(t, got, c.told)
		}
	}
	require.Empty(t, f.at(1, 0), "a ceiling that is not known")
}

func TestAStoreTellsHowFullItIs(t *testing.T) {
	t.Parallel()
	o := fast(t)
	o.MaxStore = 64 << 20
	b := open(t, o)
	before, ceiling, ok := b.Filled()
	require.True(t, ok)
	require.Equal(t, int64(64<<20), ceiling)
	_, err := b.Append(t.Context(), ConductorSubject("r", "run"), make([]byte, 500_000), 0)
	require.NoError(t, err)
	used, _, _ := b.Filled()
	require.Greater(t, used, before+500_000)
	at, err := OwnerOptions(o.Dir)
	require.NoError(t, err)
	_, _, ok = open(t, at).Filled()
	require.False(t, ok)
}

func TestMendTellsThatTheStoreWillBeFull(t *testing.T) {
	t.Parallel()
	o := fast(t)
	o.MaxStore = 8 << 20
	b := open(t, o)
	told := make(chan string, 9)
	b.WaitForRoom(func(text string) { told <- text })
	for i := range 14 {
		_, err := b.Append(t.Context(), ConductorSubject("r", fmt.Sprint("k", i)), make([]byte, 500_000), 0)
		require.NoError(t, err)
	}
	defer b.Mend()()
	require.Contains(t, chantest.Next(t, told), "% of the 8 MiB that it can have. Remove runs that need not be kept")
}

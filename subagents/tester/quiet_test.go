package tester

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A command that prints nothing is shown every 30 s with its last line, and no longer once it prints again.
func TestSilenceIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		x := &Executor{Doing: func(words string) { said = append(said, words) }}
		heard, stop := x.listen("gate test")
		time.Sleep(29 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		require.Equal(t, []string{"gate test"}, said)
		heard([]byte("ok 1\n\x1b[31mfetching x\x1b[0m\n"))
		time.Sleep(31 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		require.Equal(t, "gate test: nothing printed for 30s; last line: fetching x", said[len(said)-1])
		time.Sleep(30 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		require.Equal(t, "gate test: nothing printed for 1m0s; last line: fetching x", said[len(said)-1])
		heard([]byte("\n"))
		time.Sleep(20 * time.Second) //nolint:forbidigo // the bubble's time
		heard([]byte("more"))
		time.Sleep(29 * time.Second) //nolint:forbidigo // the bubble's time
		synctest.Wait()
		require.Equal(t, "gate test", said[len(said)-1])
		stop()
		n := len(said)
		time.Sleep(time.Hour) //nolint:forbidigo // the bubble's time
		require.Len(t, said, n, "it ends with its command")
	})
}

func TestSilenceWithoutALine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "setup: nothing printed for 2m0s", words("setup", 2*time.Minute, ""))
}

package meter

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMeterAddsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		begin := time.Now()
		<-time.After(2 * time.Second)
		m.Since(begin)
		before := m.Spent()
		begin = time.Now()
		<-time.After(time.Second)
		m.Since(begin)
		require.Equal(t, Spent{Calls: 2, Time: 3 * time.Second}, m.Spent())
		require.Equal(t, Spent{Calls: 1, Time: time.Second}, m.Spent().Sub(before))
	})
}

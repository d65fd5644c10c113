package bus

import (
	"bytes"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

func TestAStoreThatWasNotClosedIsNoWarning(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := &serverLog{log: zerolog.New(&said).Level(zerolog.WarnLevel)}
	log.Warnf("Filestore [%s] Stream state outdated, last block has additional entries, will rebuild", "EV")
	log.Warnf("Filestore [%s] TTL state is outdated; attempting to recover using linear scan (seq %d to %d)", "EV", 1, 2)
	require.Empty(t, said.String())
	log.Warnf("Filestore [%s] checkMsgs: %v", "EV", "bad")
	require.Contains(t, said.String(), "checkMsgs: bad")
}

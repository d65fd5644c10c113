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
	log := newServerLog(zerolog.New(&said).Level(zerolog.WarnLevel))
	log.Warnf("Filestore [%s] Stream state outdated, last block has additional entries, will rebuild", "EV")
	log.Warnf("Filestore [%s] TTL state is outdated; attempting to recover using linear scan (seq %d to %d)", "EV", 1, 2)
	log.Warnf("Consumer '%s > TASKS > %s' error on write store state from purge: old update ignored", "$G", "tester")
	require.Empty(t, said.String())
	log.Warnf("Filestore [%s] checkMsgs: %v", "EV", "bad")
	require.Contains(t, said.String(), "checkMsgs: bad")
}

// Every program of this machine can try to log in; a terminal is no place to tell of it.
func TestARefusedLoginIsNoError(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := newServerLog(zerolog.New(&said).Level(zerolog.InfoLevel))
	for _, text := range []string{
		"authentication error", "authentication error - User %q", "authentication timeout", "maximum authentication attempts exceeded",
	} {
		log.Errorf("127.0.0.1:1 - cid:7 - "+text, "x")
	}
	require.Empty(t, said.String())
	log.Errorf("JetStream failed to store a msg: %v", "full")
	require.Contains(t, said.String(), "failed to store")
}

package bus

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What an agent has written can look like the beginning of a long record at every few bytes.
func TestBeginningsOfNoRecordsAreNotAllHashed(t *testing.T) {
	t.Parallel()
	h, err := newHasher(streamObjects, 1)
	require.NoError(t, err)
	b := make([]byte, 8<<20)
	for at := 0; at+recordHead < len(b); at += 12 {
		binary.LittleEndian.PutUint32(b[at:], uint32(min(len(b)-at, maxRecord)))
		binary.LittleEndian.PutUint64(b[at+4:], 5)
	}
	begin := time.Now()
	found, damaged := h.places(b, 3, false)
	require.Empty(t, found)
	require.True(t, damaged)
	require.Less(t, time.Since(begin), 30*time.Second)
}

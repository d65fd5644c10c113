package console

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

var update = flag.Bool("update", false, "write the sample and the golden files anew")

const samplePath = "testdata/sample.jsonl"

// readSample reads the stored run.
func readSample(t testing.TB) []contextscope.Event {
	t.Helper()
	raw, err := os.ReadFile(samplePath)
	require.NoError(t, err)
	var events []contextscope.Event
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e contextscope.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		events = append(events, e)
	}
	require.NoError(t, lines.Err())
	return events
}

// TestSampleIsCurrent holds the stored run, which the dashboard's tests read too, to the function that makes it.
func TestSampleIsCurrent(t *testing.T) {
	var want bytes.Buffer
	for _, e := range sample() {
		raw, err := json.Marshal(e)
		require.NoError(t, err)
		want.Write(append(raw, '\n'))
	}
	golden(t, samplePath, want.Bytes())
}

// golden compares with a stored file, or stores it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test -update once")
	require.Equal(t, string(want), string(got))
}

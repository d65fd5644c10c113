package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOfAProgram(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"go version go1.26.1 linux/amd64": "1.26.1", "v20.20.2": "20.20.2", "Python 3.11.7": "3.11.7", "version 7": "", "": "",
	} {
		require.Equal(t, want, VersionIn(words), words)
	}
	require.Equal(t, "version", VersionArg("/usr/local/go/bin/go"))
	require.Equal(t, "--version", VersionArg("node"))
}

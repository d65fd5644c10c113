package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPatchIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, (&globals{out: &out}).writePatch("@@ -1 +1 @@\n-\ta\x1b[2J\r\n+b\u202e\n same\n", false))
	require.Equal(t, "@@ -1 +1 @@\n-\ta\uFFFD[2J\uFFFD\n+b\uFFFD\n same\n", out.String())
}

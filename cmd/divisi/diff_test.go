package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPatchIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, "@@ -1 +1 @@\n-\ta\uFFFD[2J\uFFFD\n+b\uFFFD\n same\n",
		(&globals{out: io.Discard}).patchText("@@ -1 +1 @@\n-\ta\x1b[2J\r\n+b\u202e\n same\n"))
}

package inspect

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
)

func TestAPatchIsSafeForATerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, "@@ -1 +1 @@\n-\ta\uFFFD[2J\uFFFD\n+b\uFFFD\n same\n",
		(&Globals{&cli.Globals{Out: io.Discard}}).PatchText("@@ -1 +1 @@\n-\ta\x1b[2J\r\n+b\u202e\n same\n"))
}

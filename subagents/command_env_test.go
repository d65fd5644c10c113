package subagents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Linux starts no program with a variable of more than 128 KiB; thousands of files must not keep a command from starting.
func TestALongListOfFilesIsLeftToStandardInput(t *testing.T) {
	t.Parallel()
	a := testAssignment()
	a.Task.Files = []string{"a.go", "b.go"}
	require.Contains(t, taskEnv(a), "DIVISI_FILES=a.go\nb.go")
	for i := range 10_000 {
		a.Task.Files = append(a.Task.Files, fmt.Sprintf("some/long/directory/file%05d.go", i))
	}
	for _, v := range taskEnv(a) {
		require.False(t, strings.HasPrefix(v, "DIVISI_FILES="))
		require.Less(t, len(v), 128<<10)
	}
	require.Len(t, commandInput(a).Files, 10_002)
}

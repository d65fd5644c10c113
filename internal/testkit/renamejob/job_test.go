package renamejob_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/testkit/renamejob"
)

func TestTheJobFitsTogether(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{renamejob.Waves, renamejob.Set} {
		_, _, err := configs.ParsePlan("plan.yaml", plan)
		require.NoError(t, err)
	}
	uses := 0
	for name, text := range renamejob.Files(3) {
		if strings.Contains(text, "legacy.LoadRecord(") {
			require.True(t, strings.HasPrefix(name, "pkg"), name)
			uses++
		}
	}
	require.Equal(t, 3, uses)
	require.Len(t, renamejob.Script().Rules, 5)
}

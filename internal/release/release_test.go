package release

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommitOfBuild(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		settings     []debug.BuildSetting
		commit, time string
	}{
		{nil, "", ""},
		{[]debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.modified", Value: "true"}}, "", ""},
		{
			[]debug.BuildSetting{{Key: "vcs.revision", Value: "1f2e"}, {Key: "vcs.time", Value: "2026-11-28T09:35:48Z"}},
			"1f2e", "2026-11-28T09:35:48Z",
		},
		{
			[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "1f2e"}},
			"1f2e+dirty", "",
		},
	} {
		commit, time := commitOf(&debug.BuildInfo{Settings: c.settings})
		require.Equal(t, c.commit, commit)
		require.Equal(t, c.time, time)
	}
}

package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePathOfTheShell(t *testing.T) {
	t.Parallel()
	const own = "/home/me/bin:/repo/.venv/bin:/home/me/node_modules/.bin:/usr/bin"
	bins := "/repo/web/node_modules/.bin:/repo/node_modules/.bin:/node_modules/.bin:/usr/lib/npm/node-gyp-bin:"
	npm := map[string]string{"npm_lifecycle_event": "start"}
	for name, c := range map[string]struct {
		before string
		vars   map[string]string
	}{
		"plain":          {"", nil},
		"git":            {"/usr/lib/git-core:", map[string]string{"GIT_EXEC_PATH": "/usr/lib/git-core"}},
		"git elsewhere":  {"/opt/git/exec:", map[string]string{"GIT_EXEC_PATH": "/opt/git/exec"}},
		"git in git":     {"/usr/lib/git-core:/usr/lib/git-core:", nil},
		"npm":            {bins, npm},
		"a hook of npm":  {"/usr/lib/git-core:" + bins, npm},
		"yarn":           {"/tmp/yarn--17-0.3:" + bins, npm},
		"yarn 4":         {"/tmp/xfs-1f:", map[string]string{"npm_execpath": "/y", "BERRY_BIN_FOLDER": "/tmp/xfs-1f"}},
		"npm in make":    {bins + bins, npm},
		"empty elements": {"", map[string]string{"GIT_EXEC_PATH": "", "BERRY_BIN_FOLDER": "", "npm_execpath": "/n"}},
	} {
		get := func(path string) string {
			return shellPath(func(n string) string {
				if n == "PATH" {
					return path
				}
				return c.vars[n]
			})
		}
		require.Equal(t, own, get(c.before+own), name)
		require.Equal(t, own, get(own), name)
		require.Equal(t, ":"+own, get(":"+own), name)
		require.Equal(t, strings.TrimSuffix(c.before, ":"), get(strings.TrimSuffix(c.before, ":")), "no shell has an empty one: %s", name)
	}
	require.Equal(t, bins+own, shellPath(func(n string) string { return map[string]string{"PATH": bins + own}[n] }),
		"what no script of a package manager has put there is the person's own")
}

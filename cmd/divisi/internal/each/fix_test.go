package each

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/spec"
)

func TestAFixIsAPlan(t *testing.T) {
	t.Parallel()
	ruff := strings.Fields("ruff check .")
	own := spec.Fixer{Command: []string{"sh", "-c", `"$@" || test $? -eq 1`, "sh", "ruff", "check", "--fix", "."}, Whole: true}
	for name, c := range map[string]struct {
		line   Fix
		role   string
		mends  string
		fixers []spec.Fixer
		gates  []spec.Gate
	}{
		"own fixes": {Fix{Checker: ruff}, "fix", "ruff", []spec.Fixer{own}, []spec.Gate{{Name: "ruff", Command: ruff, Format: "findings"}}},
		"in their order": {
			Fix{Checker: ruff, Fixers: []string{"tidy {files}", "tidy-all"}, Pattern: "a($X)", Rewrite: "b($X)", Lang: "py", Role: "generator", Brief: "Do.", AllowSuppress: 2},
			"fix", "ruff",
			[]spec.Fixer{
				own,
				{Command: []string{"sh", "-c", `tidy "$@"`, "sh", "{files}"}},
				{Command: []string{"sh", "-c", "tidy-all"}, Whole: true},
				{Command: astGrep("a($X)", "b($X)", "py")},
				{Role: "generator"},
			},
			[]spec.Gate{{Name: "ruff", Command: ruff, Format: "findings"}},
		},
		"a model alone": {
			Fix{Checker: ruff, NoOwn: true, Role: "generator"}, "generator", "ruff", nil, []spec.Gate{{Name: "ruff", Command: ruff, Format: "findings"}},
		},
		"a gate":    {Fix{Checker: ruff, Gate: "lint"}, "fix", "lint", []spec.Fixer{own}, nil},
		"a program": {Fix{Checker: []string{"./bin/my checker.sh"}, Fixers: []string{"x"}}, "fix", "my-checker-sh", []spec.Fixer{{Command: []string{"sh", "-c", "x"}, Whole: true}}, []spec.Gate{{Name: "my-checker-sh", Command: []string{"./bin/my checker.sh"}, Format: "findings"}}},
	} {
		change, gates, err := c.line.Change()
		require.NoError(t, err, name)
		require.Equal(t, c.gates, gates, name)
		task := change.Plan.Tasks[0]
		require.Equal(t, []any{c.role, []string{c.mends}, c.fixers, spec.ByFinding}, []any{task.Role, task.Mends, task.Fixers, task.Shard.By}, name)
		plan, role, err := change.Texts("tidy")
		require.NoError(t, err, name)
		read, _, err := configs.ParsePlan("p", plan)
		require.NoError(t, err, "%s\n%s", name, plan)
		require.Equal(t, task.Fixers, read.Tasks[0].Fixers, name)
		require.Equal(t, c.line.AllowSuppress, read.Tasks[0].AllowSuppress, name)
		if c.role == fixName {
			_, err = configs.ParseRole("tidy.md", role)
			require.NoError(t, err, "%s\n%s", name, role)
		}
	}
	for want, line := range map[string]Fix{
		"name the checker whose findings are to be fixed": {},
		"a checker goes after --: divisi fix -- ruff":     {Brief: "ruff"},
		"no fixes of mypy itself are known":               {Checker: []string{"mypy", "."}},
		"leave {files} out":                               {Checker: []string{"ruff", "check", "{files}"}},
		"{files} must be a word of its own":               {Checker: ruff, Fixers: []string{"tidy {files}x"}},
		"a brief is for a model":                          {Checker: ruff, Brief: "Do."},
		"--ast-grep needs --rewrite and --lang":           {Checker: ruff, Pattern: "a"},
		"--by must be file, package, symbol, code, owner": {Checker: ruff, By: "dir"},
		"--rounds must be at least 1":                     {Checker: ruff, Rounds: -1},
	} {
		_, _, err := line.Change()
		require.ErrorContains(t, err, want)
	}
}

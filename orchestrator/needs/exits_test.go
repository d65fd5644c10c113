package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

func TestGatesWhoseExitCodeIsTaken(t *testing.T) {
	t.Parallel()
	const forgiven = "gate g: || true hides the exit code of the command before it: only failures named in a test report are seen"
	const piped = "gate g: its exit code is that of the last command of a pipe: write bash -o pipefail -c in place of the shell's -c, " +
		"or leave the pipe out"
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"sh", "-c", "npm test || true"}, forgiven},
		{[]string{"sh", "-c", "a && b || :"}, forgiven},
		{[]string{"/bin/bash", "-ec", "a || exit 0; b"}, forgiven},
		{[]string{"sh", "-c", "go test ./... | tee log"}, piped},
		{[]string{"env", "CI=1", "sh", "-c", "go test 2>&1|tee log"}, piped},
		{[]string{"bash", "-o", "pipefail", "-c", "go test | tee log"}, ""},
		{[]string{"bash", "-c", "set -o pipefail; go test | tee log"}, ""},
		{[]string{"sh", "-c", "a || b"}, ""},
		{[]string{"sh", "-c", `! grep -rE 'a|b' . && echo "x | y" >| log`}, ""},
		{[]string{"sh", "check.sh", "|"}, ""},
		{[]string{"make", "test"}, ""},
		{[]string{"sh", "-c"}, ""},
		{nil, ""},
	} {
		s := &run.Spec{Project: spec.Project{Gates: []spec.Gate{{Name: "g", Command: c.command}}}}
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		require.Equal(t, want, exitNotices(s), "%q", c.command)
	}
}

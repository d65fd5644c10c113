package worker

import (
	"strconv"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

const addsModule = `printf 'module example.test/m\n\ngo 1.24\n\nrequire example.test/far v1.0.0\n' > go.mod
printf 'package m\n\nimport _ "example.test/far"\n' > m.go`

// The setup runs again in the tree of a patch that changes what it reads: over the environment, without network, and its failure is
// that of the files that changed. What go lacks its own commands tell: only red gates are led back to it.
func TestSlowAPatchThatChangesDependencies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester", "mod")
	a := s.assignment(testerRole, "--setup")
	a.Setup = []string{"sh", "-c", `mkdir -p node_modules && echo '*' > node_modules/.gitignore && cp a.txt node_modules/ && ` +
		`echo mine > sub/b.txt && if grep -q far a.txt; then env | grep -i _proxy; echo "error: no far"; exit 3; fi`}
	s.enqueue(a)
	made := s.result(a)
	require.Equal(t, spec.StatusDone, made.Status, "%+v", made.Error)
	b := s.assignment(testerRole, "--setup")
	b.Attempt, b.Setup = 2, []string{"sh", "-c", `mkdir -p node_modules && echo '*' > node_modules/.gitignore && cp a.txt node_modules/`}
	s.enqueue(b)
	read := s.result(b)
	require.Equal(t, spec.StatusDone, read.Status, "%+v", read.Error)
	keyed := spec.Setup{Command: a.Setup, Key: []string{"a.txt"}}
	installed := spec.Gate{Name: "g", Command: []string{"sh", "-c", "cmp a.txt node_modules/a.txt && grep -q two sub/b.txt"}}
	there := spec.Gate{Name: "g", Command: []string{"sh", "-c", "cat a.txt && test -e node_modules/a.txt"}}
	goes := spec.Setup{Command: []string{"go", "mod", "download"}}
	for i, c := range []struct {
		name, change string
		setup        spec.Setup
		gate         spec.Gate
		red          []string
		message      string
	}{
		{"is there", "echo new > a.txt", keyed, installed, nil, ""},
		{"is not there", "echo far > a.txt", keyed, installed, []string{"a.txt"}, "sh exited with 3: error: no far"},
		{"no manifest", "echo new > c.txt", spec.Setup{Command: []string{"false"}, Key: []string{"a.txt"}}, spec.Gate{Name: "g", Command: []string{"true"}}, nil, ""},
		{"what only its run tells", "echo new > a.txt", spec.Setup{Command: b.Setup}, installed, nil, ""},
		{
			"no longer installed", "echo new > a.txt",
			spec.Setup{Command: []string{"sh", "-c", "echo 'not installed: b'"}, Key: []string{"a.txt"}},
			installed,
			[]string{"a.txt"},
			"not installed: b",
		},
		{"what it does not read", "echo new > c.txt", spec.Setup{Command: []string{"false"}}, there, nil, ""},
		{"it does not run again", "echo new > a.txt", spec.Setup{Command: []string{"sh", "-c", "rm -r node_modules/*; exit 3"}}, there, nil, "sh exited with 3"},
		{"go needs it", addsModule, goes, spec.Gate{Name: "g", Command: []string{"go", "build", "./..."}}, []string{"go.mod"}, "go exited with 1: "},
		{"go does not need it", addsModule, goes, spec.Gate{Name: "g", Command: []string{"true"}}, nil, ""},
	} {
		mod := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{"sh", "-c", c.change}}, "t"+strconv.Itoa(i))
		s.enqueue(mod)
		patch := s.result(mod).Patch
		require.NotNil(t, patch, c.name)
		proof := s.assignment(testerRole, "p"+strconv.Itoa(i))
		proof.Patch, proof.Environment = patch, made.Environment
		if c.setup.Key == nil && c.setup.Command[0] != "go" {
			proof.Environment = read.Environment
		}
		proof.Project = spec.Project{Setup: c.setup, Gates: []spec.Gate{c.gate}}
		s.enqueue(proof)
		r := s.result(proof)
		require.Len(t, r.Receipts, 1, "%s: %+v", c.name, r.Error)
		if c.red == nil {
			require.Equal(t, spec.StatusDone, r.Status, "%s: %+v", c.name, r.Error)
			const why = "setup reads it, and does not run again without network: "
			if unread := r.Receipts[0].UnreadOf("a.txt"); c.message != "" {
				require.Equal(t, why+c.message, unread.Reason, c.name)
				require.True(t, unread.Source)
			} else if unread != nil {
				require.NotContains(t, unread.Reason, why, c.name)
			}
			continue
		}
		const signature = "setup: dependencies of "
		red := r.Receipts[0]
		require.Equal(t, spec.VerdictFail, red.Verdict, c.name)
		require.NotEmpty(t, red.Output, c.name)
		require.Contains(t, red.Tail, "its dependencies are not in the environment: "+c.message, c.name)
		require.Contains(t, red.Tail, "add them to the base and start a new run", c.name)
		mine := signature + c.red[0] + " are not in the environment"
		require.Equal(t, c.red, red.Paths[mine], c.name)
		for _, other := range red.Signatures {
			require.True(t, other == mine || red.Follows[other] != "", "%s: %s", c.name, other)
		}
		require.NotContains(t, red.Tail, "_proxy")
	}
}

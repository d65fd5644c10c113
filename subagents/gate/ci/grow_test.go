package ci

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// Files that are written to fill the memory, or to have others read again and again, end soon.
func TestFilesThatGrow(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		workflow: "on: push\nenv: {X: " + strings.Repeat("x", 50_000) + "}\njobs: {a: {steps: [{run: ./x.sh}, {run: make t}, " +
			"{run: 'go test " + strings.Repeat("${{env.X}} ", 2_000) + "'}]}}\n",
		"Makefile":     "X=" + strings.Repeat("x", 500_000) + "\nt:\n\techo " + strings.Repeat("$(X)", 2_000) + "\n",
		"x.sh":         strings.Repeat("npm run b\n", 20_000),
		"package.json": `{"scripts": {"b": "c"}}`,
	}
	reads := 0
	found := Read([]string{workflow}, func(file string) ([]byte, error) {
		reads++
		return []byte(files[file]), nil
	})
	require.Len(t, found.Commands, 3)
	require.Equal(t, "it is too long to be read", found.Commands[2].Why)
	require.LessOrEqual(t, len(found.Commands[2].Text), 300)
	require.Less(t, reads, 2*maxLeaves)
	require.Less(t, len(strings.Join((&expander{found.read, 1}).make(".", []string{"t"}), "")), 2*maxScript)
}

// A command of two places is for the files of both, and needs what the lesser of them needs. Services of the project meet needs.
func TestCommandsOfTwoPlaces(t *testing.T) {
	t.Parallel()
	found := Read([]string{workflow}, func(string) ([]byte, error) {
		return []byte("on: push\njobs:\n" +
			"  a: {services: {db: {image: 'postgres:15'}, r: {image: redis}}, steps: [{run: make a}, {run: make b}]}\n" +
			"  b: {services: {r: {image: docker.io/library/redis:7}}, steps: [{run: make b}]}\n"), nil
	})
	has := func(services ...spec.Service) (out []string) {
		for _, j := range found.Judge(Facts{Services: services, Has: func(string) bool { return true }}) {
			out = append(out, j.Reason())
		}
		return out
	}
	redis := spec.Service{Name: "cache", Command: []string{"sh", "-c", "exec redis-server"}}
	require.Equal(t, []string{"it needs the service db, r", "it needs the service r"}, has())
	require.Equal(t, []string{"it needs the service db", "no gate"}, has(redis))
	require.Equal(t, []string{"no gate", "no gate"}, has(redis, spec.Service{Name: "db"}))
	for _, c := range []struct{ a, b, want []string }{
		{[]string{"b", "a"}, []string{"a", "c"}, []string{"a", "b", "c"}}, {[]string{"a"}, nil, nil}, {nil, []string{"a"}, nil},
	} {
		one := Command{Paths: c.a}
		one.merge(&Command{Paths: c.b})
		require.Equal(t, c.want, one.Paths)
	}
}

// A gate of a directory stands for no command at the top.
func TestGatesOfDirectories(t *testing.T) {
	t.Parallel()
	found := Read([]string{workflow}, func(string) ([]byte, error) {
		return []byte("on: push\njobs: {a: {steps: [{run: pytest}, {run: pytest, working-directory: sub}]}}\n"), nil
	})
	gates := []spec.Gate{{Name: "g", Command: []string{"env", "--chdir=sub", "python3", "-m", "pytest", "-q"}}}
	list := found.Judge(Facts{Gates: gates, Has: func(string) bool { return true }})
	require.Equal(t, []State{Open, Covered}, []State{list[0].State, list[1].State})
}

package gate

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// Results of caches are known by what tools print of them.
func TestCachedResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ format, output, want string }{
		"go":         {FormatText, "ok  \tm/p\t(cached)\nok  \tm/q\t0.1s\nok  \tm/r\t(cached)\tcoverage: 3% of statements\n", "m/p m/r"},
		"go -json":   {FormatGoTest, `{"Action":"output","Package":"m/p","Output":"ok  \tm/p\t(cached)\n"}` + "\n" + `{"Action":"pass","Package":"m/p"}`, "m/p"},
		"nx":         {FormatText, "> nx run shop:test  [local cache]\n", "other"},
		"turbo":      {FormatText, "shop:test: cache hit, replaying logs 1234\n", "other"},
		"bazel":      {FormatText, "//shop:cart_test          (cached) PASSED in 0.1s\n", "other"},
		"gradle":     {FormatText, "> Task :compileJava UP-TO-DATE\n> Task :test UP-TO-DATE\n", "other"},
		"a build":    {FormatText, "> Task :compileJava UP-TO-DATE\nusing the cache\n", ""},
		"in a test":  {FormatText, "cart_test.go:3: ok  \tm/p\t(cached)\n", ""},
		"after -v":   {FormatText, "--- PASS: TestA (0.00s)\nPASS\nok  \tm/p\t(cached)\n", "m/p"},
		"tap around": {"", "ok  \tm/p\t(cached)\n1..1\nok 1 - x\n", "m/p"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, pkg := range parse(c.format, []byte(c.output), tool{}).cached {
				if pkg == "" {
					pkg = "other"
				}
				got = append(got, pkg)
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// Go knows the Go files of a package, and nothing of the programs that its tests start.
func TestStale(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module m\n", "p/p.go": "package p\n", "r/r.go": "package r\n\nimport _ \"m/run\"\n", "run/run.go": "package run\n\nimport _ \"os/exec\"\n",
		"x/x_test.go": "package x\n\nimport _ \"os/exec\"\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for name, c := range map[string]struct {
		cached, changed string
		want            bool
	}{
		"nothing is cached":            {"", "data.txt", false},
		"nothing has changed":          {"m/p", "", false},
		"Go files alone":               {"m/p", "q/q.go go.mod go.sum", false},
		"another file":                 {"m/p", "q/q.go data.txt", true},
		"a test that starts programs":  {"m/p m/x", "q/q.go", true},
		"a helper that does":           {"m/r", "q/q.go", true},
		"a package of no known module": {"other/p", "q/q.go", true},
		"another tool":                 {"m/p other", "q/q.go", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := Where{Dir: dir, Baseline: &spec.Receipt{}, Changed: func(context.Context) ([]string, error) {
				return strings.Fields(c.changed), nil
			}}
			var cached []string
			for _, pkg := range strings.Fields(c.cached) {
				cached = append(cached, strings.TrimPrefix(pkg, "other"))
			}
			got, err := stale(t.Context(), []string{"go", "test", "./..."}, cached, &where)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnew(t *testing.T) {
	t.Parallel()
	require.Contains(t, Anew([]string{"A=b"}), "GOFLAGS=-count=1")
	given := []string{"GOFLAGS=-mod=mod", "A=b"}
	require.Contains(t, Anew(given), "GOFLAGS=-mod=mod -count=1")
	require.Equal(t, "GOFLAGS=-mod=mod", given[0])
}

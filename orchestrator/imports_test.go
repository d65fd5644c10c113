package orchestrator_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows has, for each package of this room, the packages of the room that it may import. Imports point one way: to a package
// that is higher up in this table.
var arrows = []struct {
	pkg string
	may []string
}{
	{"forecast", nil},
	{"run", []string{"forecast"}},
	{"baseline", []string{"run"}},
	{"ledger", nil},
	{"forge", nil},
	{"forge/web", []string{"forge"}},
	{"forge/github", []string{"forge", "forge/web"}},
	{"forge/remote", []string{"forge/web"}},
	{"forge/credential", []string{"forge/remote"}},
	{"recovery", []string{"run"}},
	{"proof", []string{"recovery", "run"}},
	// Rules know what a failure leads to and what the gates can prove, and no other rule.
	{"view/stats", []string{"forecast", "run"}}, // a plan is estimated by the figures that are shown
	{"round", []string{"run"}},                  // a leaf: when rounds end, and their tasks
	{"plan", []string{"forecast", "round", "run", "view/stats"}},
	{"schedule", []string{"proof", "recovery", "round", "run"}},
	{"acceptance/testsource", nil},
	{"acceptance/testsource/gosource", []string{"acceptance/testsource"}},
	{"acceptance/suppression", []string{"acceptance/testsource", "acceptance/testsource/gosource"}},
	{"acceptance", []string{"acceptance/suppression", "acceptance/testsource", "acceptance/testsource/gosource", "proof", "recovery", "run"}},
	{"outlier", []string{"acceptance/testsource"}},
	{"landing/blame", []string{"acceptance/testsource", "recovery", "run"}}, // a leaf: which files are tests
	{"landing/rank", []string{"run"}},
	{"landing", []string{"landing/blame", "landing/rank", "proof", "recovery", "round", "run"}},
	{"request", []string{"recovery", "run"}},
	{"master", []string{"recovery", "run"}},
	{"phase", []string{"proof", "recovery", "run"}},
	{"decision", []string{"proof", "recovery", "request", "run"}}, // an answer does what the same request of a person does
	{"act", []string{"decision", "plan", "request", "run"}},       // the table of what rules do for a person
	{"assign", []string{"master", "run"}},                         // what the master reads is sealed as its assignment
	{"view/advice", []string{"act", "proof", "run"}},
	{"view/result", []string{"acceptance/testsource", "decision", "landing", "proof", "run", "view/advice"}},
	{"view", []string{"decision", "forecast", "landing", "proof", "recovery", "round", "run", "schedule", "view/advice", "view/result", "view/stats"}},
	{"view/feed", []string{"decision", "forecast", "recovery", "run", "view", "view/stats"}},
	{"view/page", []string{"act", "decision", "landing", "run", "schedule", "view", "view/advice", "view/result", "view/stats"}},
	{"redact", []string{"run"}},
	{"eventlog", []string{"run"}},
	{"pull", []string{"run"}},
	{"evidence", []string{"acceptance", "acceptance/testsource", "landing/rank", "outlier", "proof", "run"}},
	{"call", []string{"act", "plan", "request", "view"}},
	{"conductor", []string{"acceptance", "act", "assign", "call", "decision", "eventlog", "evidence", "landing", "landing/rank", "ledger", "master", "phase", "plan", "proof", "recovery", "request", "run", "schedule"}},
	{"store", []string{"eventlog", "forecast", "run", "view", "view/stats"}},
	{"attempt", []string{"landing/blame", "request", "run", "store"}},
	{"console/display", nil},
	{"console/reports", []string{"attempt", "console/display", "forecast", "round", "view", "view/advice", "view/feed", "view/result"}},
	{"console", []string{"act", "console/display", "console/reports", "view", "view/feed", "view/result", "view/stats"}},
	{"console/board", []string{"act", "console", "console/display", "view", "view/feed", "view/page"}},
	{"explain", []string{"assign", "console/display", "plan", "run", "store"}},
	{"dashboard", []string{"act", "view", "view/feed", "view/page"}},
	{"mcpserver", []string{"act", "attempt", "console/reports", "dashboard", "view", "view/advice"}},
	{"fit", nil},
	{"settings", []string{"fit", "store"}},
	{"needs", []string{"act", "console/display", "proof", "run", "settings", "store"}},
	{"shard", []string{"evidence", "plan", "request"}},
	{"mirrors", nil},
	{"twin", []string{"recovery", "run"}},
	{"audit", nil},
	{"backup", []string{"store"}},
	{"metrics", nil},
	{"fault", []string{"conductor", "phase", "recovery"}},
	// The rooms behind the façade: what machines keep and lend, who asks, what works, what conducts, for whom.
	{"depot", []string{"baseline", "call", "mirrors", "run", "store"}},
	{"client", []string{"act", "attempt", "call", "conductor", "decision", "depot", "eventlog", "explain", "plan", "proof", "request", "run", "shard", "store", "view", "view/advice"}},
	{"station", []string{"call", "depot", "eventlog", "fit", "needs", "plan", "run", "store"}},
	{"conduct", []string{"act", "call", "client", "conductor", "depot", "eventlog", "fault", "needs", "plan", "run", "shard", "station", "store", "view"}},
	{"rebase", []string{"client", "conduct", "run", "store"}},
	{"publish", []string{"act", "client", "evidence", "forge", "forge/credential", "forge/github", "forge/remote", "plan", "proof", "pull", "run", "view", "view/result"}},
	{"host", []string{"act", "audit", "call", "client", "conduct", "conductor", "depot", "eventlog", "fault", "mirrors", "request", "run", "store", "redact"}},
	{"door", []string{"act", "call", "client", "conduct", "dashboard", "depot", "host", "mcpserver", "view"}},
	{"hub", []string{"audit", "backup", "call", "client", "dashboard", "decision", "depot", "door", "eventlog", "fault", "host", "metrics", "run", "station"}},
	{"sample", []string{"depot", "store"}},
	{".", []string{"act", "client", "conduct", "depot", "door", "fault", "twin"}},
}

// pure are the packages that decide or fold: they know neither NATS nor git, files, processes or the network.
var pure = []string{"forecast", "run", "plan", "proof", "recovery", "schedule", "request", "act", "master", "acceptance", "acceptance/suppression", "acceptance/testsource", "acceptance/testsource/gosource", "landing", "landing/blame", "landing/rank", "ledger", "outlier", "decision", "phase", "round", "view", "view/advice", "view/feed", "view/page", "view/result", "view/stats", "redact", "pull"}

var impure = []string{"divisi/bus", "divisi/internal/git", "divisi/internal/sandbox", "os", "os/exec", "net", "net/http", "path/filepath"}

// imported returns what the product files of a package import.
func imported(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, dir)
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			require.NoError(t, err)
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	var known []string
	for _, a := range arrows {
		for _, path := range imported(t, a.pkg) {
			if to, own := strings.CutPrefix(path, "divisi/orchestrator"); own {
				require.Contains(t, a.may, strings.TrimPrefix(to, "/"), "%s may not import %s", a.pkg, path)
			}
		}
		for _, to := range a.may {
			require.Contains(t, known, to, "%s is no package above %s", to, a.pkg)
			require.Contains(t, imported(t, a.pkg), "divisi/orchestrator/"+to, "%s does not import %s", a.pkg, to)
		}
		known = append(known, a.pkg)
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			require.Contains(t, known, e.Name(), "a package that the table does not know")
		}
	}
}

// A package that knows many others changes with each of them: what has grown too far hands over to a package behind it.
func TestNoPackageImportsTooManyOthers(t *testing.T) {
	t.Parallel()
	const most, facade = 25, 15
	require.NoError(t, filepath.WalkDir("..", func(dir string, e fs.DirEntry, err error) error {
		files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		switch {
		case err != nil || !e.IsDir():
			return err
		case dir != ".." && strings.HasPrefix(e.Name(), "."), e.Name() == "testdata", e.Name() == "testkit":
			return fs.SkipDir
		case len(files) == 0:
			return nil
		}
		own := slices.DeleteFunc(imported(t, dir), func(path string) bool { return !strings.HasPrefix(path, "divisi/") })
		may := most
		if dir == "../orchestrator" {
			may = facade
		}
		require.LessOrEqual(t, len(own), may, dir)
		return nil
	}))
}

func TestRulesAndFoldsDoNoInputOrOutput(t *testing.T) {
	t.Parallel()
	for _, pkg := range pure {
		for _, path := range imported(t, pkg) {
			require.NotContains(t, impure, path, "%s may not import %s", pkg, path)
		}
	}
}

// What crosses the bus is read by every room: these packages import the few that define it and no other.
func TestRunAndWireImportTypesAlone(t *testing.T) {
	t.Parallel()
	for dir, may := range map[string][]string{
		"run":               {"divisi/contextscope", "divisi/internal/lazyregexp", "divisi/internal/spec", "divisi/orchestrator/forecast", "divisi/subagents/wire"},
		"../subagents/wire": {"divisi/bus", "divisi/bus/member", "divisi/contextscope", "divisi/internal/spec", "divisi/internal/text"},
	} {
		for _, path := range imported(t, dir) {
			if strings.HasPrefix(path, "divisi/") {
				require.Contains(t, may, path, "%s may not import %s", dir, path)
			}
		}
	}
}

package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	greenReport = `<testsuite><testcase name="adds" classname="org.CartTest"/></testsuite>`
	redReport   = `<testsuite><testcase name="adds" classname="org.CartTest"><failure message="no"/></testcase></testsuite>`
	shopPom     = "<project><artifactId>shop</artifactId><modules><module>core</module></modules></project>"
)

// mvn is a gate of a script of the tree that stands for Maven.
func mvn() spec.Gate { return spec.Gate{Name: "mvn", Command: []string{"./mvnw", "-q", "test"}} }

// writes is a script that writes a report into a module.
func writes(report, name string) string {
	file := filepath.Join(name, "target/surefire-reports/TEST-org.CartTest.xml")
	return "mkdir -p " + filepath.Dir(file) + " && echo '" + report + "' > " + file + "\n"
}

func TestSurefiresReportsAreRead(t *testing.T) {
	t.Parallel()
	integration := strings.ReplaceAll(writes(redReport, "web"), "surefire-reports", "failsafe-reports")
	where := newWhere(t, map[string]string{
		"mvnw":    "#!/bin/sh\n" + writes(greenReport, ".") + writes(redReport, "core") + integration + "exit 1\n",
		"pom.xml": shopPom, "core/src/test/java/org/CartTest.java": "",
		// What a test needs is no report, wherever it is copied to.
		"src/test/resources/surefire-reports/TEST-a.xml":  redReport,
		"target/test-classes/surefire-reports/TEST-b.xml": redReport,
	})
	for range 2 {
		r := run(t, mvn(), where)
		require.Equal(t, []string{"test: core/org.CartTest adds", "test: web/org.CartTest adds"}, r.Signatures)
		require.Equal(t, []string{"core/src/test/java/org/CartTest.java"}, r.Paths["test: core/org.CartTest adds"])
		require.Equal(t, []int{3, 1}, []int{r.Tests, r.Passed})
		require.Empty(t, r.Hidden)
		require.NoFileExists(t, filepath.Join(where.Dir, "core/target/surefire-reports/TEST-org.CartTest.xml"))
	}
	require.FileExists(t, filepath.Join(where.Dir, "src/test/resources/surefire-reports/TEST-a.xml"))
}

// What lies there before the gate begins, what is no file of the tree, and what breaks off, proves nothing.
func TestWhatIsNoReportOfSurefire(t *testing.T) {
	t.Parallel()
	where := newWhere(t, map[string]string{"mvnw": "#!/bin/sh\nexit 0\n", "core/target/surefire-reports/TEST-org.OldTest.xml": greenReport})
	old := filepath.Join(where.Dir, "core/target/surefire-reports/TEST-org.OldTest.xml")
	just := time.Now().Add(-100 * time.Millisecond) // in the same second as the gate
	require.NoError(t, os.Chtimes(old, just, just))
	outside := filepath.Join(t.TempDir(), "surefire-reports")
	require.NoError(t, os.Mkdir(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "TEST-org.OutTest.xml"), []byte(greenReport), 0o600))
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(outside, "TEST-org.OutTest.xml"), later, later))
	require.NoError(t, os.Mkdir(filepath.Join(where.Dir, "target"), 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(where.Dir, "target/surefire-reports")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "TEST-org.OutTest.xml"), filepath.Join(filepath.Dir(old), "TEST-link.xml")))
	require.NoError(t, unix.Mkfifo(filepath.Join(filepath.Dir(old), "TEST-pipe.xml"), 0o600))
	r := run(t, mvn(), where)
	require.Zero(t, r.Tests)
	require.True(t, Empty(r), "green without a test")
	require.FileExists(t, old)

	ran := spec.Receipt{Kind: spec.KindTests, Tests: 5, Passed: 4, ExitCode: 1, Signatures: []string{"test: org.CartTest adds"}}
	where.Baseline = &ran
	require.Equal(t, spec.VerdictFail, run(t, mvn(), where).Verdict, "tests ran on the base, and none ran here")

	// Very deep is no module.
	broken := "#!/bin/sh\n" + writes(redReport, strings.Repeat("d/", maxDepth)) + writes(greenReport, "core") + writes(strings.TrimSuffix(greenReport, "</testsuite>"), "web") + "exit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(where.Dir, "mvnw"), []byte(broken), 0o700)) // a script
	r = run(t, mvn(), where)
	require.Equal(t, []string{spec.HiddenAll}, r.Hidden)
	require.Equal(t, 2, r.Passed)
	require.Empty(t, r.Signatures)
}

// In an environment target is a layer: what the gate writes lies over it, what setup has left below it.
func TestReportsOverALayer(t *testing.T) {
	t.Parallel()
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	where := newWhere(t, map[string]string{"mvnw": "#!/bin/sh\nsh ./script\n", "pom.xml": shopPom, "core/pom.xml": "<project/>"})
	lower := plant(t, map[string]string{
		"surefire-reports/TEST-org.CartTest.xml": greenReport, "surefire-reports/TEST-org.OldTest.xml": greenReport,
	})
	later := time.Now().Add(time.Hour) // whatever a setup says of its time
	require.NoError(t, os.Chtimes(filepath.Join(lower, "surefire-reports/TEST-org.OldTest.xml"), later, later))
	earlier := time.Now().Add(-time.Second)
	require.NoError(t, os.Chtimes(filepath.Join(lower, "surefire-reports/TEST-org.CartTest.xml"), earlier, earlier))
	require.NoError(t, os.MkdirAll(filepath.Join(where.Dir, "core/target"), 0o700))
	where.Place.Layers = []sandbox.Layer{{Path: "core/target", Lower: lower}}
	keeper, err := sandbox.StartKeeper(t.Context(), sandbox.KeeperConfig{Place: where.Place, Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, keeper.Close()) })
	where.Place.Keeper = keeper
	for _, c := range []struct {
		script        string
		tests, passed int
	}{
		{"mv core/target/surefire-reports/TEST-org.CartTest.xml core/target/surefire-reports/TEST-x.xml", 0, 0},
		{"cat core/target/surefire-reports/TEST-org.OldTest.xml", 0, 0},
		{writes(redReport, "core") + "exit 1", 1, 0},
		{writes(greenReport, "core"), 1, 1},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(where.Dir, "script"), []byte(c.script), 0o600))
		r := run(t, mvn(), where)
		require.Equal(t, []int{c.tests, c.passed}, []int{r.Tests, r.Passed}, "%s\n%s", c.script, r.Tail)
	}
	data, err := os.ReadFile(filepath.Join(lower, "surefire-reports/TEST-org.CartTest.xml"))
	require.NoError(t, err)
	require.Equal(t, greenReport, string(data))
}

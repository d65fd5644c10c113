package gate

import (
	"testing"

	"divisi/internal/spec"
	"divisi/subagents/gate/trace"

	"github.com/stretchr/testify/require"
)

func TestWhatMavenDidNotBuild(t *testing.T) {
	t.Parallel()
	javac := "[ERROR] /tmp/fx/core/A.java:[3,5] cannot find symbol\n[ERROR]   symbol:   class B\n"
	goal := "[ERROR] Failed to execute goal org.x:p:1.2:run (default) on project core: "
	for name, c := range map[string]struct {
		output     string
		signatures []string
		hidden     []string
	}{
		"two errors of javac, printed twice": {
			javac + "[ERROR] /tmp/fx/core/A.java:[9,1] ';' expected\n[INFO] 2 errors\n" + goal + "Compilation failure: Compilation failure: \n" + javac +
				"[ERROR] /tmp/fx/core/A.java:[9,1] ';' expected\n[ERROR] -> [Help 1]\n",
			[]string{"build: core/A.java: ';' expected", "build: core/A.java: cannot find symbol: class B", "build: core: Compilation failure: Compilation failure:"},
			[]string{trace.OfModule + "core"},
		},
		"another goal": {
			goal + "Some rules have failed. -> [Help 1]\n", []string{"build: core: Some rules have failed."}, []string{trace.OfModule + "core"},
		},
		"modules that were skipped, the last with its version": {
			"[INFO] Shop :: Web .............. SKIPPED\n[INFO] a name that fills the whole line 1.0-SNAPSHOT SKIPPED\n" + goal + "There are test failures.\n[ERROR] -> [Help 1]\n",
			nil,
			[]string{trace.OfModule + "Shop :: Web", trace.OfModule + "a name that fills the whole line 1.0-SNAPSHOT"},
		},
		"no build at all": {
			"[ERROR] Unknown lifecycle phase \"tset\". -> [Help 1]\n", []string{"build: Unknown lifecycle phase \"tset\"."}, []string{spec.HiddenAll},
		},
		"failures that no report names": {
			"[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n" + goal + "There are test failures.\n", nil, []string{spec.HiddenAll},
		},
		"a fork that was ended": {
			goal + "There are test failures.\n[ERROR] \n[ERROR] There was a timeout or other error in the fork\n",
			[]string{"build: core: There was a timeout or other error in the fork"},
			[]string{trace.OfModule + "core"},
		},
		"what a test prints": {"[INFO] 3 messages were SKIPPED today\n[ERROR] a log line\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newMavenParser(newTextParser(newNormaliser("/tmp/fx")))
			lines := newLines(p)
			lines.write([]byte(c.output))
			found := lines.close()
			require.ElementsMatch(t, c.signatures, found.sorted())
			hidden := []string{}
			for h := range found.hidden {
				hidden = append(hidden, h)
			}
			require.ElementsMatch(t, c.hidden, hidden)
		})
	}
}

func TestTestsThatOnlyTheOutputCounts(t *testing.T) {
	t.Parallel()
	found := parse(FormatJUnit, []byte("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] \n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0\n"), tool{"mvn", spec.KindTests})
	require.Equal(t, []int{4, 4}, []int{found.tests, found.passed})
	require.Empty(t, found.hidden)
}

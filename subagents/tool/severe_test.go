package tool

import (
	"fmt"
	"strings"
	"testing"

	"divisi/internal/text"
	"divisi/subagents/errorline"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const goTest = `=== RUN   TestA
    a_test.go:5: starting
    a_test.go:9:
        	Error Trace:	/x/a_test.go:9
        	Error:      	Not equal
--- FAIL: TestA (0.00s)
=== RUN   TestB
--- PASS: TestB (0.00s)
panic: runtime error: index out of range [5] with length 3 [recovered]

goroutine 7 [running]:
testing.tRunner.func1.2({0x51ee80, 0x56ef18})
	/usr/local/go/src/testing/testing.go:1734 +0x21c
main.(*T).do(...)
	/x/a.go:3
created by testing.(*T).Run in goroutine 1
	/usr/local/go/src/testing/testing.go:1851 +0x413
exit status 2
FAIL	x	0.005s
ok  	y	0.1s
`

const python = `collecting
Traceback (most recent call last):
  File "t.py", line 3, in <module>
    f()
  File "t.py", line 1, in f
    raise Custom("x")
mypkg.Custom: x
done
unrelated
`

const rust = `   Compiling x v0.1.0
warning: unused variable: ` + "`y`" + `
 --> src/main.rs:2:9
  |
2 |     let y = 1;
  |         ^ help: if this is intentional, prefix it with an underscore

error[E0425]: cannot find value ` + "`z`" + ` in this scope
 --> src/main.rs:3:5
  |
3 |     z;
  |     ^ not found in this scope

   Finished dev
`

func TestWholeBlocksSurvive(t *testing.T) {
	t.Parallel()
	failures, warnings := severe(goTest)
	require.Empty(t, warnings)
	for _, line := range strings.Split(goTest, "\n") {
		if line != "" && !strings.Contains(line, "TestB") && !strings.HasSuffix(line, "starting") && line != "=== RUN   TestA" && !strings.HasPrefix(line, "ok") {
			require.Contains(t, failures, line+"\n", "of a failing test and a panic")
		}
	}
	failures, _ = severe(python)
	require.Equal(t, "[line 1]\n"+strings.TrimSuffix(python, "\ndone\nunrelated\n"), failures)
	failures, warnings = severe(rust)
	require.Equal(t, "[line 8]\n"+rust[strings.Index(rust, "error["):strings.Index(rust, "\n\n   Finished")], failures)
	require.Contains(t, warnings, "warning: unused variable: `y`\n --> src/main.rs:2:9\n  |\n2 |     let y = 1;\n  |         ^ help: if")
	require.NotContains(t, warnings, "E0425")
}

func TestWhatComesAgainIsCounted(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text, "step %d\nwarning: old\n\nerror: e%d\n\n", i, i%2)
	}
	failures, warnings := severe(text.String())
	require.Equal(t, "[line 1, and 49 more like it]\nstep 0\nwarning: old", warnings)
	require.Equal(t, "[line 4, and 24 more like it]\nerror: e0\n[line 9, and 24 more like it]\nerror: e1", failures)
}

func TestAnErrorBelowAWarningIsAnError(t *testing.T) {
	t.Parallel()
	failures, warnings := severe("WARN retrying\n  warning: slow\n  error: broken\n    at f()\nfine\n")
	require.Contains(t, failures, "  error: broken\n    at f()")
	require.Contains(t, warnings, "WARN retrying\n  warning: slow")
	require.NotContains(t, warnings, "broken")
}

func TestEveryErrorLineSurvives(t *testing.T) {
	t.Parallel()
	lines := rapid.OneOf(
		rapid.StringMatching(`(error|fatal|panic|TypeError|warning|WARN): [a-z ]{0,12}`), rapid.StringMatching(`[a-z ]{0,12}`),
		rapid.StringMatching(`( {1,4}|\t)[a-z]{1,8}(: error: x)?`), rapid.SampledFrom([]string{"", "goroutine 1 [running]:", "f(0x1)", "-->"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(lines, 0, 60).Draw(t, "lines")
		failures, warnings := severe(strings.Join(all, "\n"))
		kept := map[string]bool{}
		for _, line := range strings.Split(failures+"\n"+warnings, "\n") {
			kept[line] = true
		}
		for _, line := range all {
			if errorline.Grade(line) != errorline.Harmless {
				require.True(t, kept[line], "%q is missing", line)
			}
			if errorline.Grade(line) == errorline.Fails {
				require.Contains(t, "\n"+failures+"\n", "\n"+line+"\n", "errors are not among the warnings")
			}
		}
	})
}

func FuzzSevere(f *testing.F) {
	for _, text := range []string{goTest, python, rust, "error", "\n\xff\n error:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, output string) {
		failures, warnings := severe(output)
		again, _ := severe(output)
		require.Equal(t, failures, again)
		for _, line := range text.Lines(output) {
			if errorline.Grade(line) == errorline.Fails {
				require.Contains(t, failures, line)
			} else if errorline.Grade(line) == errorline.Warns {
				require.Contains(t, failures+warnings, line)
			}
		}
	})
}

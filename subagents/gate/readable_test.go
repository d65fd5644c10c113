package gate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/gate"
)

func TestReadableIsWhatGoTestPrints(t *testing.T) {
	t.Parallel()
	events := `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:5: calm\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"pass","Package":"m/a","Elapsed":0.01}
{"Action":"start","Package":"m/b"}
{"Action":"output","Package":"m/b","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/b","Test":"TestGood","Output":"    b_test.go:5: calm\n"}
{"Action":"pass","Package":"m/b","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"    b_test.go:7: wrong sum\n"}
{"Action":"output","Package":"m/b","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad","Elapsed":0}
{"ImportPath":"m/broken","Action":"build-output","Output":"broken/broken.go:3:13: undefined: y\n"}
{"ImportPath":"m/broken","Action":"build-fail"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t0.015s\n"}
{"Action":"fail","Package":"m/b","Elapsed":0.015,"FailedBuild":"m/broken"}
exit status 1
`
	require.Equal(t, `broken/broken.go:3:13: undefined: y
exit status 1
    b_test.go:7: wrong sum
--- FAIL: TestBad (0.00s)
FAIL	m/b	0.015s
1 package passed, or had no tests to run
`, gate.Readable(events))
}

func TestReadableKeepsTheFailureOfATestThatPassesAgain(t *testing.T) {
	t.Parallel()
	require.Equal(t, "bad\nFAIL\n", gate.Readable(`{"Action":"output","Package":"m","Test":"T","Output":"bad\n"}
{"Action":"fail","Package":"m","Test":"T"}
{"Action":"output","Package":"m","Test":"T","Output":"fine\n"}
{"Action":"pass","Package":"m","Test":"T"}
{"Action":"output","Package":"m","Output":"FAIL\n"}
{"Action":"fail","Package":"m"}
`))
}

func TestReadableLeavesOtherOutput(t *testing.T) {
	t.Parallel()
	for _, output := range []string{
		"", "make: *** [all] Error 2", "{\"Action\":3}\n{not json\n", "a\r\nb",
		"{\"action\":\"login\",\"level\":\"error\"}\n", "{\"action\":\"start\",\"package\":\"p\",\"msg\":\"boom\"}\n",
		"{\"Action\":\"login\",\"Package\":\"p\"}\n",
	} {
		require.Equal(t, output, gate.Readable(output))
	}
}

func FuzzReadable(f *testing.F) {
	f.Add("{\"Action\":\"output\",\"Package\":\"m\",\"Output\":\"x\\n\"}\n{\"Action\":\"fail\",\"Package\":\"m\"}\n")
	f.Add("{\"Action\":\"pass\"}")
	f.Fuzz(func(_ *testing.T, output string) { gate.Readable(output) })
}

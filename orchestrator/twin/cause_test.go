package twin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// red is a gate that failed with some output, green one that passed.
func red(output ...string) Outcome {
	return Outcome{Gate: "test", Exit: 1, Findings: []string{"test: T"}, Tests: 3, Output: strings.Join(output, "\n")}
}

var green = Outcome{Gate: "test", Tests: 3, Output: "ok\n3 passed"}

// planted are causes as tools print them, two and more of each kind, in the sandbox or in the user's shell.
var planted = []struct {
	want          Cause
	confined, own Outcome
	do            string
}{
	{Network, red(`Get "https://example.org/": dial tcp: lookup example.org on 10.0.0.2:53: no such host`), green, "network: true"},
	{Network, red("Error: getaddrinfo ENOTFOUND packages.example.org", "    at GetAddrInfoReqWrap.onlookupall [as oncomplete]"), green, ""},
	{Network, red("curl: (6) Could not resolve host: example.org"), green, ""},
	{Network, Outcome{Gate: "test", Tests: 3, Skipped: 1, Skips: []string{"TestFetch: no route to host"}}, green, ""},
	{Network, red("curl: (7) Failed to connect to 192.0.2.2 port 8080 after 0 ms: Couldn't connect to server"), green, ""},
	{History, red("fatal: No names found, cannot describe anything."), green, "git fetch --unshallow --tags"},
	{History, red("error: pathspec", "fatal: ambiguous argument 'origin/main': unknown revision or path not in the working tree."), green, ""},
	{Home, red("FileNotFoundError: [Errno 2] No such file or directory: '/divisi/home/.config/app/settings.toml'"), green, "home of their own"},
	{Home, red("*** Please tell me who you are.", "fatal: unable to auto-detect email address"), green, ""},
	{Cache, red("a.go:3:8: module lookup disabled by GOPROXY=off"), green, "setup: [COMMAND]"},
	{Cache, red("npm error code ENOTCACHED", "npm error request to https://packages.example.org/left-pad failed: cache mode is 'only-if-cached'"), green, ""},
	{Cache, red("[ERROR] Cannot access central (https://repo.maven.apache.org/maven2) in offline mode"), green, ""},
	{Variable, red("panic: environment variable APP_MODE is not set"), Outcome{Gate: "test", Variables: []string{"APP_MODE"}}, "env: [APP_MODE]"},
	{Variable, red("./check.sh: line 3: FIXTURES: unbound variable"), Outcome{Gate: "test", Variables: []string{"FIXTURES"}}, "env: [FIXTURES]"},
	{Variable, red("    KeyError: 'DATA_ROOT'"), Outcome{Gate: "test", Variables: []string{"DATA_ROOT"}}, "env: [DATA_ROOT]"},
	{Variable, red("it wants APP_COLOUR to be red"), Outcome{Gate: "test", Variables: []string{"APP_COLOUR"}}, "env: [APP_COLOUR]"},
	{Variable, red("AssertionError"), Outcome{Gate: "test", Alike: []string{"CI"}}, "env -u CI"},
	{Variable, red("no API_TOKEN: environment variable API_TOKEN is missing"), Outcome{Gate: "test", Variables: []string{"API_TOKEN"}}, "looks like a secret"},
	{Variable, green, red(`{"Time":"2026-01-01T00:00:00Z","Action":"run","Test":"Test/negative_timezone"}`,
		`{"Time":"2026-01-01T00:00:00Z","Action":"output","Test":"T","Output":"=== RUN   Test/negative_timezone\n"}`,
		`{"Time":"2026-01-01T00:00:00Z","Action":"output","Test":"T","Output":"    a_test.go:10: environment variable PLANTED is required\n"}`), ""},
	{Tool, red("./tool.sh: 1: /divisi/home/bin/mytool: not found"), green, ""},
	{Tool, red("sh: 1: protoc: not found"), green, "$DIVISI_TOOLS/bin"},
	{Tool, Outcome{Gate: "test", Exit: 1, Output: "SyntaxError: invalid syntax", Programs: []string{`python3 is another program for commands: its version is "3.6" there, and "3.12" in your shell`}}, green, "first in PATH"},
	{Service, red("dial tcp 127.0.0.1:5432: connect: connection refused"), green, "PostgreSQL"},
	{Service, red("Error: connect ECONNREFUSED 127.0.0.1:6379", "    at TCPConnectWrap.afterConnect"), green, "Redis"},
	{Service, red(`  File "/root/.pyenv/lib/python3.11/socket.py", line 851, in create_connection`, "ConnectionRefusedError: [Errno 111] Connection refused"), green, ""},
	{Service, red(`psycopg2.OperationalError: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused`), green, "services"},
	{Service, red("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"), green, ""},
	{Port, green, red("Error: listen EADDRINUSE: address already in use 127.0.0.1:8080"), "does better in the sandbox"},
	{Port, red("listen tcp :80: bind: permission denied"), green, "free port"},
	{Locale, red("locale.Error: unsupported locale setting"), green, "env: [LANG, LC_ALL]"},
	{Locale, red("expected 1.234,50 for de_DE.UTF-8, got 1234.5"), green, ""},
	{Locale, green, Outcome{Gate: "test", Exit: 1, Output: "b < A", Alike: []string{"LC_ALL"}}, "does better"},
	{Sanitizer, red("==12==LeakSanitizer has encountered a fatal error.", "==12==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)"), green, "detect_leaks=0"},
	{Sanitizer, red("strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted"), green, ""},
	{Memory, red("OSError: [Errno 28] No space left on device: '/dev/shm/psm_1f2'"), green, "shared memory"},
	{Memory, red("shm_open: Permission denied"), green, ""},
	{Zone, red("panic: unknown time zone Europe/Paris"), green, "env: [TZ]"},
	{Zone, red("got 2024-01-01 00:00:00 +0000 UTC, want 2024-01-01 01:00:00 +0100 CET"), green, ""},
	{Zone, green, Outcome{Gate: "test", Exit: 1, Output: "hour is 9, not 10", Alike: []string{"TZ"}}, "does better"},
}

// Of planted causes nine of ten are named rightly, and the next step says what to write.
func TestPlantedCausesAreNamed(t *testing.T) {
	t.Parallel()
	right, kinds := 0, map[Cause]int{}
	for i, c := range planted {
		list := Causes(c.confined, c.own)
		require.NotEmpty(t, list, "%d", i)
		kinds[c.want]++
		if list[0].Cause != c.want {
			t.Logf("%d: %s, not %s: %s", i, list[0].Cause, c.want, &list[0])
			continue
		}
		right++
		require.Contains(t, list[0].Do, c.do, "%d: %s", i, &list[0])
		require.NotContains(t, list[0].String(), "\n")
	}
	require.Len(t, kinds, 12)
	for cause, n := range kinds {
		require.GreaterOrEqual(t, n, 2, cause)
	}
	share := float64(right) / float64(len(planted))
	t.Logf("%d of %d planted causes are named (%.0f %%)", right, len(planted), 100*share)
	require.GreaterOrEqual(t, share, 0.9)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		confined, own Outcome
		want          []string
	}{
		"equal":             {green, green, nil},
		"other output":      {green, Outcome{Gate: "test", Tests: 3, Output: "ok in 3 s"}, nil},
		"both red the same": {red("a"), red("b"), nil},
		"both red": {
			Outcome{Gate: "test", Exit: 1, Findings: []string{"test: A"}},
			Outcome{Gate: "test", Exit: 1, Findings: []string{"test: B"}},
			[]string{"test: found in the sandbox alone: test: A; found in your shell alone: test: B"},
		},
		"a timeout": {
			Outcome{Gate: "test", Exit: -1, TimedOut: true},
			Outcome{Gate: "test"},
			[]string{"test: timed out in the sandbox, green in your shell"},
		},
		"tests and skips": {
			Outcome{Gate: "test", Tests: 9, Skipped: 2, Output: "x"},
			Outcome{Gate: "test", Tests: 10},
			[]string{"test: 9 tests in the sandbox, 10 in your shell; 2 skipped in the sandbox, 0 in your shell"},
		},
		"files": {
			green,
			Outcome{Gate: "test", Tests: 3, Wrote: []string{"a.txt"}},
			[]string{"test: changes in your shell alone: a.txt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range Causes(c.confined, c.own) {
				require.Empty(t, d.Cause)
				require.NotEmpty(t, d.Do)
				got = append(got, fmt.Sprint(&d))
			}
			require.Equal(t, c.want, got)
		})
	}
}

// Lines that both sides print show no cause.
func TestWhatBothPrintIsNoEvidence(t *testing.T) {
	t.Parallel()
	both := "warning: setlocale: LC_ALL: cannot change locale (en_US)\n"
	confined, own := red(both+"dial tcp 127.0.0.1:5432: connect: connection refused"), green
	own.Output = both + "ok"
	require.Equal(t, Service, Causes(confined, own)[0].Cause)
	confined.Output = both
	require.Empty(t, Causes(confined, own)[0].Cause)
}

package missing

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func red(gate, command string, lines ...string) spec.Receipt {
	return spec.Receipt{Gate: gate, Command: strings.Fields(command), ExitCode: 1, Tail: strings.Join(lines, "\n"), Verdict: spec.VerdictFail}
}

// Lines as the tools print them.
func TestWhatIsLacking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		receipt spec.Receipt
		want    string
	}{
		"go without its modules": {
			red("go-build", "go build ./...", "main.go:3:8: golang.org/x/text@v0.14.0: module lookup disabled by GOPROXY=off"),
			"the Go modules that the repository needs are not downloaded",
		},
		"go behind a proxy": {
			red("go-test", "go test -json ./...", `go: x@v1.0.0: Get "https://modules.example.org/x/@v/v1.0.0.mod": dial tcp: lookup modules.example.org: no such host`),
			"the Go modules that the repository needs are not downloaded",
		},
		"npm's shell":      {red("npm-test", "npm test -- --reporter tap", "> mocha test/", "sh: 1: mocha: not found"), "node_modules is not installed"},
		"npx":              {red("unit", "npx mocha", "npm error code ENOTCACHED"), "node_modules is not installed"},
		"node":             {red("unit", "node test.js", "Error: Cannot find module 'express'"), "node_modules is not installed"},
		"node, esm":        {red("unit", "node test.js", "Cannot find package 'vue' imported from /divisi/tree/a.js"), "node_modules is not installed"},
		"pnpm":             {red("pnpm-test", "pnpm test", "Local package.json exists, but node_modules missing, did you mean to install?"), "node_modules is not installed"},
		"yarn":             {red("yarn-test", "yarn test", "Usage Error: Couldn't find the node_modules state file - running an install might help"), "node_modules is not installed"},
		"pytest":           {red("pytest", "python3 -m pytest -q", "/usr/bin/python3: No module named pytest"), "pytest is not installed for the gate's Python"},
		"a module":         {red("pytest", "python3 -m pytest -q", "E   ModuleNotFoundError: No module named 'click'"), "the Python module click is not installed"},
		"cargo":            {red("cargo-test", "cargo test", "attempting to make an HTTP request, but --offline was specified"), "the crates that the repository needs are not downloaded"},
		"maven":            {red("mvn-test", "mvn test", "[ERROR] Cannot access central (https://repo) in offline mode and the artifact x has not been downloaded from it before."), "Maven's artifacts are not downloaded"},
		"a program":        {red("lint", "make lint", "/bin/sh: 1: golangci-lint: not found"), "the program golangci-lint is not installed"},
		"a leak check":     {red("test", "make test", "==7==LeakSanitizer has encountered a fatal error."), "the right to trace processes is missing"},
		"strace":           {red("test", "sh t.sh", "strace: test_ptrace_get_syscall_info: PTRACE_TRACEME: Operation not permitted"), "the right to trace processes is missing"},
		"gdb":              {red("test", "sh t.sh", "warning: Could not trace the inferior process.\nwarning: ptrace: Operation not permitted"), "the right to trace processes is missing"},
		"make's program":   {red("test", "make test", "make: lint: No such file or directory"), "the program lint is not installed"},
		"rust":             {red("test", "cargo test", "  a@0.4.1 requires rustc 1.96"), "Rust 1.96 is not installed"},
		"a newer go":       {red("test", "go test", "go: go.mod requires go >= 1.30.1 (running go 1.26; GOTOOLCHAIN=local)"), "Go 1.30.1 is not installed"},
		"javac":            {red("test", "mvn test", "[ERROR] error: release version 25 not supported"), "Java 25 is not installed"},
		"javac's target":   {red("test", "mvn test", "error: invalid target release: 21"), "Java 21 is not installed"},
		"a library":        {red("test", "sh -c cmake", "  Could NOT find ZLIB (missing: ZLIB_LIBRARY)"), "the library, or its header, ZLIB is not installed"},
		"a package":        {red("test", "sh -c cmake", `  Could not find a package configuration file provided by "fmt" with any of`), "the library, or its header, fmt is not installed"},
		"pkg-config":       {red("test", "sh -c cmake", "No package 'x-1.0' found"), "the library, or its header, x-1.0 is not installed"},
		"an optional one":  {red("test", "sh -c cmake", "-- Could NOT find ZLIB (missing: ZLIB_LIBRARY)"), ""},
		"a header":         {red("test", "make test", "x.c:1:10: fatal error: pcap/pcap.h: No such file or directory"), "the library, or its header, pcap/pcap.h is not installed"},
		"a relative file":  {red("unit", "node test.js", "Error: Cannot find module './gone'"), ""},
		"a failing test":   {red("unit", "npm test", "not ok 1 adds"), ""},
		"another language": {red("unit", "make", "Cannot find module 'x'"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			for _, l := range Of([]spec.Receipt{c.receipt}, nil, false) {
				got = l.What
			}
			require.Equal(t, c.want, got)
		})
	}
}

// What many gates lack is one message; a gate whose tests ran lacks nothing.
func TestOneMessageForAllGates(t *testing.T) {
	t.Parallel()
	line := "x@v1.0.0: module lookup disabled by GOPROXY=off"
	ran := red("ran", "go test", line)
	ran.Passed = 1
	lacks := Of([]spec.Receipt{
		red("a", "go build ./...", line), red("b", "go test ./...", line), ran, {Gate: "green", Verdict: spec.VerdictPass, Tail: line},
	}, nil, false)
	require.Len(t, lacks, 1)
	require.Equal(t, []string{"a", "b"}, lacks[0].Gates)
	require.Equal(t, "the Go modules that the repository needs are not downloaded, which 2 gates need: a, b ("+line+"); download them "+
		"with: go mod download; or write to .divisi/divisi.yaml and commit it: setup: [go, mod, download]",
		lacks[0].String())
}

func TestTheProposedSetupIsNamed(t *testing.T) {
	t.Parallel()
	r := red("npm-test", "npm test", "sh: 1: mocha: not found")
	lacks := Of([]spec.Receipt{r}, []string{"npm", "ci"}, false)
	require.Contains(t, lacks[0].String(), "which 1 gate needs: npm-test (sh: 1: mocha: not found); write to .divisi/divisi.yaml and commit it: setup: [npm, ci]")
	require.Contains(t, Of([]spec.Receipt{r}, nil, true)[0].String(), "the setup in .divisi/divisi.yaml does not bring it")
	require.Contains(t, Of([]spec.Receipt{red("l", "make", "sh: 1: lint: not found")}, nil, false)[0].String(), "install it, or write a setup")
	tracing := red("t", "strace true", "strace: PTRACE_TRACEME: Operation not permitted")
	require.Contains(t, Of([]spec.Receipt{tracing}, []string{"npm", "ci"}, true)[0].String(), "; commands have it where")
}

// FuzzOf: what a gate prints is no crash, and what is quoted of it is bounded.
func FuzzOf(f *testing.F) {
	f.Add("npm test", "sh: 1: mocha: not found", "")
	f.Fuzz(func(t *testing.T, command, tail, signature string) {
		r := red("g", command, tail)
		r.Signatures = []string{signature}
		for _, l := range Of([]spec.Receipt{r, r}, nil, false) {
			require.LessOrEqual(t, len(l.What)+len(l.Line), maxLine+2*maxName)
			require.Equal(t, []string{"g", "g"}, l.Gates)
		}
	})
}

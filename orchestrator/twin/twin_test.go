package twin

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// checkout is a repository with one commit.
func checkout(t *testing.T) (dir, head string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o600))
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@b commit -q -m base"} {
		out, err := exec.Command("git", append([]string{"-C", dir}, strings.Fields(args)...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	out, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output()
	require.NoError(t, err)
	return dir, strings.TrimSpace(string(out))
}

func script(name, text string) spec.Gate {
	return spec.Gate{Name: name, Command: []string{"sh", "-c", text}, Timeout: spec.Duration(20 * time.Second)}
}

// Services outlive a process that is killed, until the next start of the program.
func TestClearEndsWhatAKilledComparisonLeft(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	begin := func(id string) *exec.Cmd {
		require.NoError(t, os.MkdirAll(filepath.Join(state, "twins", id), 0o700))
		cmd := exec.Command("sh", "-c", "echo began; read -r end")
		cmd.Env = append(os.Environ(), sandbox.RunVar+"="+id, sandbox.WorkerVar+"="+services)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		// The kernel shows the environment of a process a moment after its program was started.
		_, err = io.ReadFull(out, make([]byte, len("began\n")))
		require.NoError(t, err)
		return cmd
	}
	lives, killed := begin("TWINALIVE"), begin("TWINDEAD")
	unlock, err := sandbox.LockCaches(filepath.Join(state, "twins", "TWINALIVE"))
	require.NoError(t, err)
	require.NoError(t, Clear(state))
	require.Error(t, killed.Wait())
	require.NoDirExists(t, filepath.Join(state, "twins", "TWINDEAD"))
	require.DirExists(t, filepath.Join(state, "twins", "TWINALIVE"), "another process compares")
	unlock()
	require.NoError(t, Clear(state))
	require.Error(t, lives.Wait())
	require.NoError(t, Clear(filepath.Join(state, "none")))
}

// A comparison leaves nothing, neither its own nor what a killed one left, and no gate keeps it waiting.
func TestCompareLeavesNothing(t *testing.T) {
	t.Parallel()
	repo, head := checkout(t)
	state := t.TempDir()
	killed := filepath.Join(state, "twins", "KILLED", "tree")
	require.NoError(t, os.MkdirAll(killed, 0o700))
	hangs := script("hangs", "trap '' TERM; echo waiting; exec sleep 1000")
	hangs.Timeout = spec.Duration(time.Second / 2)
	var said []string
	r, err := Compare(t.Context(), Options{
		State: state, Repo: repo, Base: head, Environ: append(os.Environ(), "GIT_DIR=/nowhere"),
		Setup: []string{"sh", "-c", `test -d "$DIVISI_TOOLS" && echo '#!/bin/sh' >"$DIVISI_TOOLS/bin/made" && chmod +x "$DIVISI_TOOLS/bin/made" && mkdir .venv && touch .venv/x`},
		Gates: []spec.Gate{
			hangs, script("reads", "read line; test -e .venv/x && test -d \"$TMPDIR\" && made && test -z \"$line\" && git rev-parse HEAD"), script("writes", "echo b >>a.txt; mkdir d; touch d/e"),
			script("next", "git diff --quiet && test ! -e d"),
			{Name: "missing", Command: []string{"no-such-program"}},
			{Name: "gone", Command: []string{"./gone"}},
			script("other", "exit 0"),
		},
		Confined: []Outcome{
			{Gate: "hangs"}, {Gate: "reads"}, {Gate: "writes", Wrote: []string{"a.txt"}}, {Gate: "next"}, {Gate: "missing"}, {Gate: "gone"},
		},
		Doing: func(what string) { said = append(said, what) },
	})
	require.NoError(t, err)
	var got []string
	for i := range r.Differences {
		got = append(got, r.Differences[i].What)
	}
	require.Len(t, got, 5, got)
	require.Contains(t, got[0], "hangs: green in the sandbox, timed out in your shell")
	require.Equal(t, "writes: changes in your shell alone: d/e", got[1])
	require.Contains(t, got[2], "missing: green in the sandbox, red (exit code 127) in your shell; likely cause: tool")
	require.Contains(t, got[3], "gone: green in the sandbox, red (exit code 127)")
	require.Equal(t, "not compared, because setup or a service fails: other", got[4])
	require.Equal(t, []string{Setup, "reads", "next"}, r.Equal)
	require.Equal(t, []string{".venv/"}, r.Left)
	left, err := os.ReadDir(filepath.Join(state, "twins"))
	require.NoError(t, err)
	require.Empty(t, left)
	text, err := os.ReadFile(filepath.Join(repo, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "a\n", string(text))
}

// A variable that changes nothing that is printed is found by running the gate again.
func TestProbesFindTheVariable(t *testing.T) {
	t.Parallel()
	repo, head := checkout(t)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a variable of the user":   {`test "$SILENT" = yes`, []string{"SILENT"}},
		"one of the sandbox":       {`test -z "$CI"`, []string{"CI"}},
		"the language":             {`test "$LC_ALL" = de_DE`, []string{"LC_ALL"}},
		"two together":             {`test "$SILENT$OTHER" != "" `, []string{"OTHER", "SILENT"}},
		"the home, in other words": {`test -e "$HOME/.rc" || { echo "a.py:1: error: bad"; exit 1; }`, []string{"HOME"}},
		"the home":                 {`test -e "$HOME/.rc"`, []string{"HOME"}},
		"nothing that can be seen": {`true`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(home, ".rc"), nil, 0o600))
			r, err := Compare(t.Context(), Options{
				State: t.TempDir(), Repo: repo, Base: head, Gates: []spec.Gate{script("g", c.text)},
				Environ:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SILENT=yes", "OTHER=yes", "LC_ALL=de_DE", "A=1", "B=2", "C=3"},
				Confined: []Outcome{{Gate: "g", Exit: 1}}, Doing: func(string) {},
			})
			require.NoError(t, err)
			require.Len(t, r.Differences, 1)
			if len(c.want) == 0 {
				require.Empty(t, r.Differences[0].Cause)
				return
			}
			require.Contains(t, r.Differences[0].What, "with the sandbox's "+strings.Join(c.want, ", ")+" it")
		})
	}
}

// A finding that names a file below the user's home is the same on both sides.
func TestFindingsBelowTheHomeAreEqual(t *testing.T) {
	t.Parallel()
	repo, head := checkout(t)
	home := t.TempDir()
	r, err := Compare(t.Context(), Options{
		State: t.TempDir(), Repo: repo, Base: head, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, Doing: func(string) {},
		Gates:    []spec.Gate{script("g", `echo "a.py: error: bad in $HOME/lib/x.py"; exit 1`)},
		Confined: []Outcome{{Gate: "g", Exit: 1, Findings: []string{"a.py: error: bad in " + home + "/lib/x.py"}}},
	})
	require.NoError(t, err)
	require.Empty(t, r.Differences)
}

// A program that is another one in the user's shell is a difference, also where the gate does the same.
func TestVersionsDiffer(t *testing.T) {
	t.Parallel()
	repo, head := checkout(t)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "tool"), []byte("#!/bin/sh\necho tool v2.10.1\n"), 0o700))
	ran := []spec.Program{
		{Path: "/usr/bin/tool", Version: "2.9"}, {Path: "/opt/tool", Version: "2.10.1"}, {Path: "/bin/absent", Version: "1.0"}, {Path: "/bin/sh"},
	}
	r, err := Compare(t.Context(), Options{
		State: t.TempDir(), Repo: repo, Base: head, Gates: []spec.Gate{script("g", "true")},
		Environ:  []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		Confined: []Outcome{{Gate: "g", Ran: ran}}, Doing: func(string) {},
	})
	require.NoError(t, err)
	require.Len(t, r.Differences, 1)
	require.Equal(t, "g: tool is 2.9 in the sandbox, 2.10.1 in your shell; likely cause: tool (its version)", r.Differences[0].What)
}

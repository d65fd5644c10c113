package shim

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox/stage"
)

// write makes a file and its directories.
func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755)) // commands of another user read it
	// A process that another test starts meanwhile would hold the file open for writing, and nothing could run it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755)) // it has to run
	return path
}

// home is a directory that commands may look into.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755)) // commands of another user read it
	return dir
}

// Stand-ins written after the managers' documentation: "which NAME" prints the path of the program for the current directory.
// Those of tools of several kinds are asked for all shims, the others for those that commands name.
func TestManagersNameThePrograms(t *testing.T) {
	t.Parallel()
	for _, layout := range []struct {
		shims, manager string
		several        bool
		root           string // a variable that the manager is given, as its shims do
	}{
		{".pyenv/shims", ".pyenv/bin/pyenv", false, "PYENV_ROOT"},
		{"tools/shims", "tools/bin/rbenv", false, "RBENV_ROOT"},
		{".asdf/shims", "bin/asdf", true, ""},
		{"share/mise/shims", "bin/mise", true, ""},
		{".volta/bin", ".volta/bin/volta", true, ""},
	} {
		t.Run(layout.shims, func(t *testing.T) {
			t.Parallel()
			dir := home(t)
			shims, versions := filepath.Join(dir, layout.shims), filepath.Join(dir, "versions")
			has := "true"
			if layout.root != "" {
				has = `test "$` + layout.root + `" = ` + filepath.Dir(shims)
			}
			write(t, filepath.Join(dir, layout.manager), has+` && test "$1" = which && test -f pin || exit 1
test "$2" != gone || { echo "gone: not installed" >&2; exit 127; }
echo `+versions+`/*/bin/"$2"`)
			for path, name := range map[string]string{"3/bin/python3": "python3", "3/bin/pip": "pip", "4/bin/other": "other", "": "gone"} {
				write(t, filepath.Join(shims, name), "echo shim")
				if path != "" {
					write(t, filepath.Join(versions, path), "echo real")
				}
			}
			repo := home(t)
			require.NoError(t, os.WriteFile(filepath.Join(repo, "pin"), nil, 0o600))
			env := []string{"PATH=/first:" + shims + ":" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
			got, replaced, lost := Environ(t.Context(), env, repo, [][]string{{"sh", "-c", "gone; python3"}}, []string{"pip", "node"})
			dirs := []string{filepath.Join(versions, "3/bin")}
			if layout.several {
				dirs = append(dirs, filepath.Join(versions, "4/bin"))
			}
			require.Equal(t, "/first:"+strings.Join(dirs, ":")+":"+filepath.Join(dir, "bin")+":/usr/bin:/bin", stage.Lookup(got, "PATH"))
			require.Equal(t, []Replaced{{shims, dirs, true}}, replaced)
			require.Len(t, lost, 1)
			require.Contains(t, lost[0].String(), "commands do not find the gone of your shell: ")
			require.Contains(t, lost[0].String(), "gone: not installed")
			require.Empty(t, lost[0].Other)
		})
	}
}

func TestWithoutShimsNothingChanges(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=/usr/bin:/home/me/bin:relative/shims"}
	got, replaced, notes := Environ(t.Context(), env, t.TempDir(), [][]string{{"sh"}}, nil)
	require.Equal(t, env, got)
	require.Empty(t, replaced)
	require.Empty(t, notes)
}

// Answers that are no programs are told, and not followed.
func TestBadAnswersOfAManager(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"no path":       {"echo 3.11", `names no program: "3.11"`},
		"nothing":       {"", `names no program: ""`},
		"two lines":     {"echo /bin/sh; echo /bin/ls", "names no program"},
		"a separator":   {"echo /bin/sh:/evil", "names no program"},
		"not there":     {"echo /nonexistent/python3", "names no program"},
		"a directory":   {"echo /usr/bin", "names no program"},
		"the checkout":  {`p=$PWD/.pyenv/versions/python3; mkdir -p $PWD/.pyenv/versions; cp /bin/sh $p; echo $p`, "names no program"},
		"an error":      {"echo broken >&2; exit 3", "exit status 3: broken"},
		"a flood":       {"head -c 1000000 /dev/zero | tr '\\0' x", "names no program"},
		"a shim":        {`echo "${0%/bin/pyenv}/shims/python3"`, "names no program"},
		"asks":          {"read answer && echo /bin/sh; echo no input", "names no program"},
		"hostile words": {`printf '\033[31mred'`, `\x1b[31mred`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := home(t)
			write(t, filepath.Join(dir, ".pyenv/shims/python3"), "")
			write(t, filepath.Join(dir, ".pyenv/bin/pyenv"), c.script)
			env := []string{"PATH=" + filepath.Join(dir, ".pyenv/shims") + ":/usr/bin:/bin"}
			got, _, lost := Environ(t.Context(), env, home(t), [][]string{{"python3"}}, nil)
			require.Equal(t, "/usr/bin:/bin", stage.Lookup(got, "PATH"))
			require.Len(t, lost, 1)
			require.Contains(t, lost[0].Why, c.want)
			require.Less(t, len(lost[0].String()), 1000)
		})
	}
}

// A manager that hangs is not asked for each of its programs.
func TestAManagerThatHangs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for it once")
	}
	dir := home(t)
	asked := filepath.Join(dir, "asked")
	for _, name := range []string{"python3", "node", "ruby"} {
		write(t, filepath.Join(dir, ".asdf/shims", name), "")
	}
	write(t, filepath.Join(dir, ".asdf/bin/asdf"), "echo $2 >> "+asked+"; exec sleep 60")
	env := []string{"PATH=" + filepath.Join(dir, ".asdf/shims") + ":/usr/bin:/bin"}
	write(t, filepath.Join(dir, "own/ruby"), "")
	env[0] += ":" + filepath.Join(dir, "own")
	_, _, lost := Environ(t.Context(), env, home(t), [][]string{{"python3"}, {"ruby"}}, nil)
	require.Len(t, lost, 2)
	require.Contains(t, lost[0].Why, "asdf which python3 does not answer within 5s")
	require.True(t, strings.HasSuffix(lost[1].String(), "they have "+filepath.Join(dir, "own/ruby")), "it was not asked")
	data, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, "python3\n", string(data))
}

// A shim that looks into the home starts another program, or none, where the home is private.
func TestProgramsThatDependOnTheHome(t *testing.T) {
	t.Parallel()
	dir := home(t)
	write(t, filepath.Join(dir, "home/.checks/new"), "echo new")
	write(t, filepath.Join(dir, "bin/check"), `test -x "$HOME/.checks/new" && exec "$HOME/.checks/new" "$@"; echo old`)
	write(t, filepath.Join(dir, "bin/ends"), `test -d "$HOME/.checks" && echo 2 && exit 1; echo 1`)
	write(t, filepath.Join(dir, "bin/fails"), `test -d "$HOME/.checks"`)
	write(t, filepath.Join(dir, "bin/writes"), `echo 1 > "$HOME/.state" || { echo cannot write; exit 1; }; echo 1.2`)
	write(t, filepath.Join(dir, "bin/same"), "echo same 1.2; date +%N")
	write(t, filepath.Join(dir, "bin/check.sh"), `grep -q one a.txt; echo evil > "$HOME/written"`)
	env := []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
	differ, err := Unlike(t.Context(), env, [][]string{{"check", "a"}, {"sh", "-c", "same a|fails; check.sh; check; writes; ends"}, {"ls"}, {"./check"}})
	require.NoError(t, err)
	if len(differ) == 0 {
		t.Skip("this machine does not confine commands")
	}
	require.Len(t, differ, 3)
	require.True(t, strings.HasPrefix(differ[2], "ends is"), differ[2])
	require.NoFileExists(t, filepath.Join(dir, "home/written"))
	require.Contains(t, differ[0], `check is another program for commands (the shim of a version manager?): its version is "old" there, and "new" in your shell`)
	require.True(t, strings.HasPrefix(differ[1], "fails is"), differ[1])
}

package workspace_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/workspace"
)

// inShell runs a command in a directory, with the git of a person.
func inShell(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// A patch is what git add -A stores in a clone by the index that commands have left there, and refused where that is not known.
func TestIndexOfCommands(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"a.txt": "a\n", "crlf.txt": "one\r\ntwo\r\nthree\r\nfour\r\n", "local.env": "local\n", "dist/a.txt": "a\n", "src/b.go": "b\n",
		".gitignore": "dist/\n*.log\n",
	}
	const commit = "; git commit -qm done"
	user := newBundle(t, files).user
	inShell(t, user, "git add -f dist; git commit -qm dist")
	b := mirrorOf(t, user)
	for name, c := range map[string]struct {
		edits, refused string
	}{
		"untracked and ignored":         {edits: "git rm -q --cached local.env; echo local.env >>.gitignore"},
		"untracked, and ignored by dir": {edits: "git rm -qr --cached src; echo src/ >>.gitignore; git add -A" + commit},
		"untracked, edited, ignored":    {edits: "git rm -q --cached local.env; echo more >>local.env; echo '*.env' >>.gitignore"},
		"untracked alone":               {edits: "git rm -q --cached a.txt crlf.txt"},
		"untracked and removed":         {edits: "git rm -q --cached a.txt; rm a.txt"},
		"untracked and tracked again": {
			edits: "git rm -q --cached local.env; echo local.env >>.gitignore; git add -A; git add -f local.env",
		},
		"forced":             {edits: "echo b >dist/b.txt; git add -f dist"},
		"forced, committed":  {edits: "echo a >>src/b.go; echo b >dist/b.txt; echo x >x.log; git add -f dist x.log; git add -A" + commit},
		"forced and removed": {edits: "echo x >x.log; git add -f x.log; rm x.log; echo b >a.txt"},
		"forced and edited":  {edits: "echo x >x.log; git add -f x.log; echo y >x.log"},
		"forced by intent":   {edits: "echo x >x.log; git add -fN x.log"},
		"moved there":        {edits: "git mv a.txt dist/moved.txt"},
		"excluded":           {edits: "mkdir -p .git/info; echo .tool >>.git/info/exclude; echo x >.tool; echo b >a.txt"},
		"excluded, tracked":  {edits: "mkdir -p .git/info; echo a.txt >>.git/info/exclude; echo b >a.txt"},
		"renormalized": {
			edits: "echo '* text=auto' >.gitattributes; git add --renormalize .; git add -A" + commit,
		},
		"renormalized, edited": {
			edits:   "echo '* text=auto' >.gitattributes; git add --renormalize .; printf 'five\\r\\n' >>crlf.txt",
			refused: "crlf.txt",
		},
		"renormalized, edited, added": {
			edits: "echo '* text=auto' >.gitattributes; git add --renormalize .; printf 'five\\r\\n' >>crlf.txt; git add -A",
		},
		"moved with its ends": {
			edits: "echo '* text=auto' >.gitattributes; git mv crlf.txt new.txt; printf 'five\\r\\n' >>new.txt",
		},
		"passed over": {edits: "git update-index --assume-unchanged a.txt; echo b >a.txt; echo c >src/b.go"},
		"sparse":      {edits: "git sparse-checkout set --no-cone /src; echo c >src/b.go"},
		"added, passed over": {
			edits: "echo b >a.txt; git add a.txt; git update-index --assume-unchanged a.txt; echo c >a.txt", refused: "a.txt",
		},
		"merged": {edits: "echo b >a.txt; git stash -q; echo c >a.txt; git commit -qam c; git stash pop -q || true; echo d >a.txt"},
		"split":  {edits: "git update-index --split-index; echo x >x.log; git add -f x.log; git rm -q --cached local.env; echo '*.env' >>.gitignore"},
		"another version": {
			edits: "git update-index --index-version 4; git rm -q --cached local.env; echo '*.env' >>.gitignore",
		},
		"a submodule": {
			edits: "mkdir mod; git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,mod", refused: "mod",
		},
		"looked at":      {edits: "git status; echo b >a.txt; git status"},
		"no repository":  {edits: "git ls-files -s >/dev/null; echo b >a.txt"},
		"a new HEAD":     {edits: "git checkout -q --orphan other; echo b >a.txt"},
		"reset of a mix": {edits: "echo b >a.txt; git commit -qam b; git reset -q HEAD~; echo x >x.log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone := filepath.Join(t.TempDir(), "clone")
			userGit(t, b.user, "clone", "-q", b.user, clone)
			inShell(t, clone, c.edits)
			s := b.slot(t)
			write(t, filepath.Join(s.Dir(), "src/b.go"), "b\n") // an earlier look counts for nothing
			_, err := s.Tree(t.Context())
			require.NoError(t, err)
			inShell(t, s.Dir(), c.edits)
			p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			if c.refused != "" {
				var refused *workspace.ContentError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Why, `"`+c.refused+`"`)
				return
			}
			require.NoError(t, err)
			tree := userGit(t, b.user, "rev-parse", "HEAD^{tree}")
			if p != nil {
				tree = p.Tree
			}
			require.Equal(t, addAll(t, clone), tree)
			require.NoError(t, s.Reset(t.Context(), b.base))
			requireSameFiles(t, b.user, s.Dir())
			write(t, filepath.Join(s.Dir(), "next.txt"), "next\n")
			write(t, filepath.Join(s.Dir(), ".tool"), "x\n")
			next, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			require.NoError(t, err)
			require.Equal(t, []string{".tool", "next.txt"}, next.Files, "the next attempt has nothing of it")
		})
	}
}

// What commands leave in the place of their index is data: it is refused, or counts for nothing, and nothing outside changes.
func TestHostileIndexOfCommands(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "ran")
	b := newBundle(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n"})
	replace := func(was, is string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			inShell(t, dir, "echo x >zzzzzz; git add zzzzzz; git update-index --index-version 2")
			index := filepath.Join(dir, ".git", "index")
			data, err := os.ReadFile(index)
			require.NoError(t, err)
			require.Contains(t, string(data), was)
			require.NoError(t, os.WriteFile(index, bytes.ReplaceAll(data, []byte(was), []byte(is)), 0o600))
		}
	}
	shell := func(script string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { t.Helper(); inShell(t, dir, script) }
	}
	for name, c := range map[string]struct {
		do      func(t *testing.T, dir string)
		refused bool
	}{
		"a path above":              {replace("zzzzzz", "../zzz"), true},
		"a path of git":             {replace("zzzzzz", ".git/z"), true},
		"an absolute path":          {replace("zzzzzz", "/zzzzz"), true},
		"twice":                     {replace("zzzzzz", "a.txt\x00"), false},
		"no index":                  {shell("echo DIRC >.git/index"), true},
		"an empty one":              {shell(": >.git/index"), true},
		"a huge one":                {shell("truncate -s 1G .git/index"), true},
		"a wrong checksum":          {shell("git add -A; printf x >>.git/index"), false},
		"a missing part":            {shell("git update-index --split-index; rm .git/sharedindex.*"), true},
		"a pipe":                    {shell("rm .git/index; mkfifo .git/index"), false},
		"a directory":               {shell("rm .git/index; mkdir .git/index"), false},
		"a link outside":            {shell("mv .git/index ../stolen; ln -s ../../stolen .git/index"), false},
		"no repository":             {shell("rm -r .git"), false},
		"a link to another":         {shell("mv .git ../other; ln -s ../other .git"), false},
		"an exclude that is a pipe": {shell("mkdir -p .git/info; rm -f .git/info/exclude; mkfifo .git/info/exclude; git rm -q --cached b.txt"), false},
		"a huge exclude":            {shell("mkdir -p .git/info; truncate -s 2M .git/info/exclude"), true},
		"hostile settings": {
			shell("mkdir -p .git/info; git rm -q b.txt; git config core.fsmonitor 'touch " + outside + "'; git config filter.x.clean 'touch " +
				outside + "'; echo '* filter=x' >.git/info/attributes; git config core.worktree /"), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.slot(t)
			write(t, filepath.Join(s.Dir(), "a.txt"), "changed\n")
			c.do(t, s.Dir())
			p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
			if c.refused {
				var refused *workspace.ContentError
				require.ErrorAs(t, err, &refused)
				require.Contains(t, refused.Why, ".git/in")
			} else {
				require.NoError(t, err)
				require.Contains(t, p.Files, "a.txt")
			}
			require.NoFileExists(t, outside)
			require.NoError(t, s.Reset(t.Context(), b.base))
			requireSameFiles(t, b.user, s.Dir())
			write(t, filepath.Join(s.Dir(), "a.txt"), "changed\n")
			p, _, err = s.Collect(t.Context(), b.base, "m", author, noon)
			require.NoError(t, err)
			require.Equal(t, []string{"a.txt"}, p.Files)
		})
	}
}

// A person's index counts too: what a directory that was taken has in ignored places is not lost.
func TestAdoptRenamesInIgnoredPlaces(t *testing.T) {
	t.Parallel()
	b := ignoring(t)
	for name, c := range map[string]struct {
		edits       string
		files, lost []string
	}{
		"renamed":   {"mv gen/old.txt gen/new.txt", []string{"gen/new.txt", "gen/old.txt"}, nil},
		"by git":    {"git mv gen/old.txt gen/new.txt", []string{"gen/new.txt", "gen/old.txt"}, nil},
		"removed":   {"rm gen/old.txt", []string{"gen/old.txt"}, []string{"gen/old.txt"}},
		"untracked": {"git rm -q --cached gen/old.txt", []string{"gen/old.txt"}, nil},
		"forced":    {"echo x >cache.x; mkdir cache; mv cache.x cache/x; git add -f cache", []string{"cache/x"}, nil},
	} {
		dir := taken(t, b)
		inShell(t, dir, c.edits)
		p, _, err := adopt(t, b, dir).Collect(t.Context(), b.base, "mine", author, noon)
		require.NoError(t, err, name)
		require.Equal(t, c.files, p.Files, name)
		require.Equal(t, c.lost, p.Lost, name)
	}
}

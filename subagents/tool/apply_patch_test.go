package tool

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// everything is all files of a tree with mode and content.
func (b *bench) everything() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	require.NoError(b.t, filepath.WalkDir(b.dir, func(name string, entry fs.DirEntry, err error) error {
		require.NoError(b.t, err)
		info, err := entry.Info()
		require.NoError(b.t, err)
		inside, err := filepath.Rel(b.dir, name)
		require.NoError(b.t, err)
		all[inside] = info.Mode().String()
		if info.Mode().IsRegular() && info.Size() < 1<<20 {
			all[inside] += " " + b.content(inside)
		}
		return nil
	}))
	return all
}

func TestApplyPatch(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a.sh": "one\r\ntwo\r\n", "old.txt": "x\n", "move.txt": "1\n2\n", "same.txt": "s\n",
		"gone.txt": "g",
	}, nil)
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "a.sh"), 0o711))
	out := b.ok(spec.ToolApplyPatch, args{"patch": `diff --git a/a.sh b/a.sh
--- a/a.sh
+++ b/a.sh
@@ -5,2 +5,2 @@
 one
-two
+2
diff --git a/new/deep/b.sh b/new/deep/b.sh
new file mode 100755
--- /dev/null
+++ b/new/deep/b.sh
@@ -0,0 +1,2 @@
+x
+y
\ No newline at end of file
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
diff --git a/move.txt b/new/moved.txt
rename from move.txt
rename to new/moved.txt
--- a/move.txt
+++ b/new/moved.txt
@@ -1,2 +1,2 @@
 1
-2
+two
`})
	require.Equal(t, "changed a.sh (+1 -1); hunk 1 fits at line 1, not 5\ncreated new/deep/b.sh\n"+
		"deleted old.txt\ndeleted gone.txt\n"+
		"renamed move.txt to new/moved.txt (+1 -1)\n", out)
	require.Equal(t, map[string]string{
		".": "drwxr-xr-x", "a.sh": "-rwx--x--x one\r\n2\r\n", "new": "drwxr-xr-x", "new/deep": "drwxr-xr-x",
		"new/deep/b.sh": "-rwxr-xr-x x\ny", "new/moved.txt": "-rw------- 1\ntwo\n", "same.txt": "-rw------- s\n",
	}, b.everything())
}

func TestApplyPatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"a": "one\ntwo\nthree\n", "b": "x\ny\nx\ny\n", "bin": "\x00\n", "in/c": "c\n", "prot_test": "p\n",
	}, func(e *Env) { e.Protected = []string{"prot_*", "in/**"} })
	before := b.everything()
	const good = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	said := b.fails(spec.ToolApplyPatch, args{"patch": good + "--- a/b\n+++ b/b\n@@ -9 +9 @@\n-x\n+z\n" +
		"--- a/missing\n+++ b/missing\n@@\n-x\n+z\n--- a/bin\n+++ b/bin\n@@\n-x\n+z\n--- a/prot_test\n+++ b/prot_test\n@@\n-p\n+z\n" +
		"--- /dev/null\n+++ b/a/new\n@@\n+z\n--- /dev/null\n+++ b/../out\n@@\n+z\n--- /dev/null\n+++ b/.git/hooks/x\n@@\n+z\n"})
	for _, why := range []string{
		"nothing was changed; put right:", "b: hunk 1 (@@ -9 +9 @@) fits in 2 places, at lines 1, 3",
		"missing does not exist", "bin: it is a binary",
		"prot_test is protected", "a/new: ", "leads out", "git's own",
	} {
		require.Contains(t, said, why)
	}
	require.NotContains(t, said, "- a: hunk")
	for patch, why := range map[string]string{
		"--- /dev/null\n+++ b/b\n@@\n+z\n":                       "b exists already",
		"diff --git a/a b/b\nrename from a\nrename to b\n":       "b exists already",
		"diff --git a/in/c b/c\nrename from in/c\nrename to c\n": "protected",
		"diff --git a/a b/in/a\nrename from a\nrename to in/a\n": "protected",
		"--- a/in/c\n+++ /dev/null\n@@\n-c\n":                    "protected",
		"--- a/a\n+++ /dev/null\n@@\n-two\n":                     "not all of its lines",
		good + "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+x\n":         "changes nothing",
		good + "--- a/b\n+++ b/b\n@@ -1,2 +1,2 @@\n x\n-q\n+r\n": "hunk 1 (@@ -1,2 +1,2 @@) does not fit",
		strings.Repeat("--- a/a\n+++ b/a\n@@\n-zz\n+q\n", 12):    "and 2 more",
		good + "nonsense": "cannot be read, nothing was changed: line 8",
		"--- a/a\n+++ b/a\n" + strings.Repeat("x", maxEdited): "Split it",
	} {
		require.Contains(t, b.fails(spec.ToolApplyPatch, args{"patch": patch}), why, short(patch, 200))
	}
	require.Equal(t, before, b.everything())
}

// TestApplyPatchTakesBack lets the last of several changes fail after the others were carried out.
func TestApplyPatchTakesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "a\n", "gone": "g\n", "from": "f\n"}, nil)
	before := b.everything()
	said := b.fails(spec.ToolApplyPatch, args{"patch": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n--- a/gone\n+++ /dev/null\n@@\n-g\n" +
		"diff --git a/from b/d/to\nrename from from\nrename to d/to\n" +
		"--- /dev/null\n+++ b/x/y/z\n@@\n+z\n--- /dev/null\n+++ b/x/y\n@@\n+y\n"})
	require.Contains(t, said, "nothing was changed: x/y: ")
	require.Equal(t, before, b.everything(), "directories and temporary files go too")
}

func TestApplyPatchIsNotBegunLate(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a": "a\n"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tool := b.set.tools[spec.ToolApplyPatch]
	r := tool.Run(ctx, Call{Args: args{"patch": "diff --git a/a b/b\nrename from a\nrename to b\n"}})
	require.Contains(t, r.Output["error"], "nothing was changed: context canceled")
	r = tool.Run(ctx, Call{Args: args{"patch": "--- a/a\n+++ b/a\n@@\n-a\n+b\n"}})
	require.Contains(t, r.Output["error"], "it was ended")
	require.Equal(t, "a\n", b.content("a"))
}

func TestApplyPatchSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	doing := func(patch string) string {
		return b.set.Doing(Call{Name: spec.ToolApplyPatch, Args: args{"patch": patch}})
	}
	require.Equal(t, "patching f", doing("--- a/f\n+++ b/f\n@@\n-a\n"))
	require.Equal(t, "patching f and 1 more", doing("--- a/f\n+++ b/f\n@@\n-a\n--- a/g\n+++ b/g\n@@\n-a\n"))
	require.Equal(t, "applying a patch", doing("?"))
}

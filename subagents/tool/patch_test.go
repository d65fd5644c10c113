package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// patched applies a patch to one file's content.
func patched(t testing.TB, content, patch string) (string, []string) {
	t.Helper()
	files, err := parsePatch(patch)
	require.NoError(t, err)
	require.Len(t, files, 1)
	f := newFitting([]byte(content), files[0].created())
	faults := f.fit(t.Context(), files[0].hunks)
	return string(f.result()), faults
}

func TestPatchFits(t *testing.T) {
	t.Parallel()
	const head = "--- a/f\n+++ b/f\n"
	for _, c := range []struct{ name, content, patch, want string }{
		{"exact", "a\nb\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n"},
		{"wrong numbers", "0\na\nb\nc\n", head + "@@ -71,9 +80,2 @@ func f()\n a\n-b\n+x\n c\n", "0\na\nx\nc\n"},
		{"no numbers", "a\nb\n", head + "@@\n-a\n+x\n b\n", "x\nb\n"},
		{"stated line of two places", "x\ny\nx\ny\n", head + "@@ -3,2 +3,2 @@\n-x\n+z\n y\n", "x\ny\nz\ny\n"},
		{"crlf in the file", "a\r\nb\r\n", head + "@@ -1,2 +1,3 @@\n a\n+n\n b\n", "a\r\nn\r\nb\r\n"},
		{"crlf everywhere", "a\r\nb\r\n", "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", "a\r\nc\r\n"},
		{"crlf in the patch alone", "a\nb\n", "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+c\r\n", "a\nc\n"},
		{"the end stays open", "a\nb", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc"},
		{
			"the end is closed", "a\nb", head + "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n", "a\nc\n",
		},
		{
			"the end is opened", "a\nb\n", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n", "a\nc",
		},
		{"something behind an open end", "a\nb", head + "@@ -1,2 +1,3 @@\n a\n b\n+c\n", "a\nb\nc\n"},
		{"an open end goes", "a\nb", head + "@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n", "a\n"},
		{"an open end goes, unmarked", "a\nb", head + "@@ -1,2 +1 @@\n a\n-b\n", "a\n"},
		{"lost spaces", "a\n\nb\n", head + "@@ -7 +7 @@\n a\n\n-b\n+c\n\n\n", "a\n\nc\n"},
		{"lines like headers", "-- x\n++ y\nz\n", head + "@@ -1,3 +1,2 @@\n--- x\n-++ y\n+++ z\n z\n", "++ z\nz\n"},
		{"all of it", "a\n", head + "@@ -1 +0,0 @@\n-a\n", ""},
		{"into an empty file", "", head + "@@ -0,0 +1 @@\n+a\n", "a\n"},
		{
			"two hunks with common context", "a\nb\nc\nd\ne\n", head + "@@ -9 @@\n a\n-b\n+B\n c\n@@ -9 @@\n c\n-d\n+D\n e\n",
			"a\nB\nc\nD\ne\n",
		},
		{
			"mail footer", "a\nb\n",
			"From 1 Mon\nSubject: x\n---\n f | 2 +-\n\n" + head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n-- \n2.39.5\n\n", "a\nc\n",
		},
		{"fence", "a\nb\n", "```diff\n" + head + "@@ -1,9 +1,9 @@\n a\n-b\n+c\n```\n", "a\nc\n"},
		{"no utf-8", "\xff\nb\n", head + "@@ -1,2 +1,2 @@\n \xff\n-b\n+c\n", "\xff\nc\n"},
		{"other form", "a\nb\nc\n", "*** Begin Patch\n*** Update File: f\n@@ func\n a\n-b\n+x\n*** End Patch\n", "a\nx\nc\n"},
		{
			"other form, first hunk bare", "a\nb\nc\n",
			"*** Begin Patch\n*** Update File: f\n a\n-b\n@@\n-c\n+d\n*** End of File\n*** End Patch",
			"a\nd\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, faults := patched(t, c.content, c.patch)
			require.Empty(t, faults)
			require.Equal(t, c.want, got)
		})
	}
}

func TestPatchDoesNotFit(t *testing.T) {
	t.Parallel()
	const head = "--- a/f\n+++ b/f\n"
	for _, c := range []struct{ name, content, patch, why string }{
		{
			"two places", "x\ny\nx\ny\n", head + "@@ -9,2 +9,2 @@\n-x\n+z\n y\n",
			"hunk 1 (@@ -9,2 +9,2 @@) fits in 2 places, at lines 1, 3",
		},
		{
			"near", "one\ntwo\nthree\nfour\n", head + "@@ -1,3 +1,3 @@\n one\n-two!\n+2\n three\n",
			"does not fit: the nearest place is at line 1; copy the context from there exactly:\n     1\tone\n     2\ttwo\n" +
				"     3\tthree\n     4\tfour\n",
		},
		{"nowhere", "aaa\n", head + "@@ -1 +1 @@\n-zzzzz\n+y\n", "nothing there is like them"},
		{"applied before", "a\nx\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "stands at line 1 already"},
		{"spaces count", "\tabc\n", head + "@@ -1 +1 @@\n-abc\n+b\n", "nearest place is at line 1"},
		{"no context", "a\n", head + "@@ -1,0 +2 @@\n+b\n", "has no line of context"},
		{
			"overlap", "a\nb\nc\n", head + "@@ -1 @@\n a\n-b\n@@ -2 @@\n-b\n c\n",
			"hunk 2 (@@ -2 @@) overlaps with another hunk at line 2",
		},
		{"one place twice", "a\nb\n", head + "@@\n a\n+1\n b\n@@\n a\n+2\n b\n", "changes the same place as another hunk"},
		{"an end that is none", "a\nb\n", head + "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n", "does not fit"},
		{"beyond the end", "a\n", head + "@@ -9,2 +9,2 @@\n a\n-b\n+c\n", "does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, faults := patched(t, c.content, c.patch)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0], c.why)
		})
	}
}

func TestPatchesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const head = "--- a/f\n+++ b/f\n"
	for patch, why := range map[string]string{
		"":                            "it is empty",
		" \n":                         "it is empty",
		"hello\n":                     "there is no file in it",
		"@@ -1 +1 @@\n-a\n+b\n":       "there is no file in it",
		head:                          "line 1: there is no change to f",
		head + "@@ -1 +1 @@\n a\n":    "has no line that begins with + or -",
		head + "@@ -1,2 +1,2 @@\n":    "has no line that begins with + or -",
		head + "@@\n-a\nfunc x() {\n": `line 5: "func x() {" is no line of hunk 1`,
		head + "@@ -1 +1 @@\n-a\n+b\n\nfunc x() {\n":             `"func x() {" is no line of`,
		head + "@@@ -1 -1 +1 @@@\n":                              "diff of a merge",
		"--- a/f\n+++ b/g\n@@\n-a\n":                             "rename from f",
		"--- /dev/null\n+++ /dev/null\n@@\n-a\n":                 "both paths",
		"--- \n+++ b/f\n@@\n-a\n":                                "path is empty",
		"--- \"a/f\n+++ b/f\n@@\n-a\n":                           "not quoted well",
		"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n": "chmod",
		"diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n": "only regular files",
		"diff --git a/f b/f\nnew file mode 160000\n":                                            "only regular files",
		"diff --git a/f b/f\nnew file mode x\n":                                                 "only regular files",
		"diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n":              "binary",
		"diff --git a/f b/f\nindex 1..2 100644\nGIT binary patch\nliteral 1\nI":                 "binary",
		"diff --git a/f b/g\nsimilarity index 9%\ncopy from f\ncopy to g\n":                     "copies a file",
		"diff --git a/f b/g\nrename from f\n":                                                   "does not say which file",
		"diff --git a/f b/g\n@@\n-a\n":                                                          "without --- a/path",
		"diff --git a/f b/g\nrename from f\nrename to g\n--- a/x\n+++ b/g\n@@\n-a\n":            "not those of the rename",
		head + "@@\n-a\n--- /dev/null\n+++ b/f\n@@\n+a\n":                                       "f is in the patch twice",
		"*** Begin Patch\n*** Frobnicate File: f\n":                                             "no line of a patch",
		"*** Begin Patch\n*** Update File: \n@@\n-a\n":                                          "path is empty",
		"*** Begin Patch\n*** Move to: f\n":                                                     "a move without",
		"*** Begin Patch\n*** Update File: f\n*** End Patch\n":                                  "there is no change",
		"*** f 2026\n--- f 2026\n":                                                              "no line of a patch",
	} {
		_, err := parsePatch(patch)
		require.ErrorContains(t, err, why, "%q", patch)
	}
}

func TestPatchPaths(t *testing.T) {
	t.Parallel()
	for patch, want := range map[string]string{
		"--- a/x/f\n+++ b/x/f\n@@\n-a\n":                                                        "x/f>x/f",
		"--- x/f\t2026-01-01\n+++ x/f\t2026-01-02\n@@\n-a\n":                                    "x/f>x/f",
		"--- a/f\n+++ /dev/null\n@@\n-a\n":                                                      "f>",
		"--- /dev/null\n+++ b/f\n@@\n+a\n":                                                      ">f",
		"--- /dev/null\n+++ f\n@@\n+a\n":                                                        ">f",
		"--- \"a/\\303\\244 \\\"b\"\n+++ \"b/\\303\\244 \\\"b\"\n@@\n-a\n":                      "ä \"b>ä \"b",
		"diff --git a/a b.txt b/a b.txt\nnew file mode 100755\nindex 0..1\n":                    ">a b.txt",
		"diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n":                            "f>",
		"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n":               "f>g",
		"diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@\n-a\n":            "f>g",
		"*** Begin Patch\n*** Add File: f\n+a\n*** End Patch":                                   ">f",
		"*** Begin Patch\n*** Delete File: f\n*** End Patch":                                    "f>",
		"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-a\n*** End Patch":            "f>g",
		"Index: f\n===================================================\n--- f\n+++ f\n@@\n-a\n": "f>f",
	} {
		files, err := parsePatch(patch)
		require.NoError(t, err, "%q", patch)
		require.Len(t, files, 1)
		require.Equal(t, want, files[0].old+">"+files[0].new, "%q", patch)
	}
	files, err := parsePatch("--- a/f\n+++ b/f\n@@\n-a\n--- a/g\n+++ b/g\n@@\n-a\n--- a/f\n+++ b/f\n@@\n-b\n")
	require.NoError(t, err)
	require.Len(t, files, 2)
	both, err := parsePatch("diff --git a/f b/f\ndeleted file mode 100644\n--- a/g\n+++ b/g\n@@\n-a\n")
	require.NoError(t, err)
	require.Len(t, both, 2, "paths of another file do not take the place of those of git")
	require.Len(t, files[0].hunks, 2, "the pieces of one file are put together")
	require.Equal(t, 2, files[0].hunks[1].number)
}

// TestPatchesOfGit makes patches with git and applies them, with right and with wrong numbers.
func TestPatchesOfGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := rapid.SampledFrom([]string{
		"a", "b", "c", "", " ", "\t", "-x", "+x", "-- x", "++ x", "@@", "@@ -1 +1 @@", "diff --git a/f b/f", `\ No newline`,
		"x\r", "\r",
		"*** End Patch", "```", "}", "same", "same", "--", "2.39", "end",
	})
	number := regexp.MustCompile(`(?m)^@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 30).Draw(rt, "lines")
		var after []string
		for _, l := range lines {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
			case 1:
				after = append(after, l, line.Draw(rt, "new"))
			default:
				after = append(after, l)
			}
		}
		text := func(lines []string, label string) string {
			return strings.TrimSuffix(strings.Join(lines, "\n")+"\n", rapid.SampledFrom([]string{"", "", "\n"}).Draw(rt, label))
		}
		old, changed := text(lines, "old end"), text(after, "new end")
		patch := diffOfGit(rt, dir, old, changed, rapid.IntRange(0, 4).Draw(rt, "context"))
		// Line ends are the file's own, whatever a patch says of them.
		same := func(s string) string { return strings.ReplaceAll(s, "\r", "") }
		if patch == "" {
			return
		}
		got, faults := patched(t, old, patch)
		if len(faults) == 0 {
			require.Equal(rt, same(changed), same(got), "%s", patch)
		} else {
			require.Regexp(rt, "no line of context|changes the same place", strings.Join(faults, "\n"), "%s", patch)
		}
		wrong := number.ReplaceAllString(patch, "@@ -9999,77 +9999 @@")
		files, err := parsePatch(wrong)
		if err != nil || len(files) != 1 {
			return // without counts, lines that look like headers count as such
		}
		f := newFitting([]byte(old), false)
		if faults := f.fit(t.Context(), files[0].hunks); len(faults) == 0 && !strings.Contains(old+changed, "\n@@") {
			require.Equal(rt, same(changed), same(string(f.result())), "%s", wrong)
		}
	})
}

func diffOfGit(t *rapid.T, dir, old, changed string, context int) string {
	for name, text := range map[string]string{"old": old, "new": changed} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("git", "diff", "--no-index", "--no-color", fmt.Sprintf("-U%d", context), "--", "old", "new")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir}
	out, err := cmd.Output()
	if err == nil {
		return ""
	}
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	return strings.NewReplacer("a/old", "a/f", "b/new", "b/f").Replace(string(out))
}

func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n")
	f.Add("a\r\nb",
		"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n")
	f.Add("",
		"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n*** Delete File: h\n*** Add File: i\n+x\n*** End Patch\n")
	f.Add("x", "diff --git \"a/\\001\" b/f\nrename from f\nrename to g\n-- \n2.3\n")
	f.Fuzz(func(t *testing.T, content, patch string) {
		files, err := parsePatch(patch)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NotEmpty(t, files)
		for _, p := range files {
			require.NotEmpty(t, p.name())
			require.NotEmpty(t, p.did())
			require.True(t, len(p.hunks) > 0 || p.old != p.new)
			fit := newFitting([]byte(content), p.created())
			if len(fit.fit(t.Context(), p.hunks)) > 0 {
				continue
			}
			got := fit.result()
			if len(p.hunks) == 0 {
				require.Equal(t, content, string(got))
			}
			for _, h := range p.hunks {
				for _, l := range h.lines {
					if l.op == '+' {
						require.Contains(t, string(got), bare(l.text))
					}
				}
			}
		}
	})
}

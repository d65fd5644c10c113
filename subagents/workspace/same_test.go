package workspace_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"divisi/subagents/workspace"
)

// plainClone clones a user's repository as a person does. Its index is younger than its files, so that git finds no file changed by
// the second in which it was written.
func plainClone(t testing.TB, user string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	userGit(t, user, "clone", "-q", user, dir)
	younger(t, dir)
	return dir
}

func younger(t testing.TB, clone string) {
	t.Helper()
	later := time.Now().Add(10 * time.Second)
	require.NoError(t, os.Chtimes(filepath.Join(clone, ".git", "index"), later, later))
}

// edit writes a file of a clone at a time of its own.
func edit(t testing.TB, name, content string) {
	t.Helper()
	write(t, name, content)
	later := time.Now().Add(20 * time.Second)
	require.NoError(t, os.Chtimes(name, later, later))
}

// addAll is the tree that a person commits.
func addAll(t testing.TB, clone string) string {
	t.Helper()
	userGit(t, clone, "-c", "core.safecrlf=false", "add", "-A")
	return userGit(t, clone, "write-tree")
}

// requireSameFiles compares two work trees by path, kind, right to execute and content.
func requireSameFiles(t testing.TB, want, got string) {
	t.Helper()
	require.Equal(t, filesOf(t, want), filesOf(t, got))
}

func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, outside := filepath.Rel(dir, name)
		switch {
		case err != nil || outside != nil || d.IsDir() && d.Name() != ".git":
			return err
		case d.Name() == ".git":
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			files[rel] = "link " + target
			return err
		}
		info, err := d.Info()
		files[rel] = strings.TrimLeft(info.Mode().Perm().String()[3:4], "-") + " " + read(t, name)
		return err
	}))
	return files
}

// features are what the property test crosses in pairs: each prepares a base and edits it, with a number that chooses what exactly.
// Files of one feature lie in the directory that it is given.
var features = []struct {
	name       string
	base, edit func(w *world, dir string)
}{
	{"mode", func(w *world, dir string) {
		w.put(dir+"/run.sh", "#!/bin/sh\n", 0o755)
		w.put(dir+"/plain", "plain\n", 0o644)
	}, func(w *world, dir string) {
		w.chmod(dir+"/plain", 0o755)
		w.put(dir+"/run.sh", "#!/bin/sh\n"+w.text("\n"), w.mode())
	}},
	{"link", func(w *world, dir string) {
		w.link(dir+"/l", "target")
		w.put(dir+"/target", "target\n", 0o644)
		w.link(dir+"/up", "../a")
	}, func(w *world, dir string) {
		w.link(dir+"/l", w.one("other", "target", "/etc"))
		w.put(dir+"/up", w.text("\n"), 0o644)
		w.link(dir+"/new", "target")
	}},
	{"ignored but tracked", func(w *world, dir string) {
		w.put(dir+"/.gitignore", "gen/\n*.log\n", 0o644)
		w.force(dir+"/gen/a.txt", "a\n"+strings.Repeat("line\n", 9))
		w.force(dir+"/x.log", "log\n")
	}, func(w *world, dir string) {
		w.put(dir+"/x.log", w.text("\n"), 0o644)
		w.put(dir+"/y.log", "not tracked\n", 0o644)
		switch w.below(3) {
		case 0:
			w.put(dir+"/gen/a.txt", w.text("\n"), 0o644)
		case 1:
			w.remove(dir + "/gen/a.txt")
		default:
			w.rename(dir+"/gen/a.txt", dir+"/gen/b.txt")
			w.renamed = append(w.renamed, dir+"/gen/b.txt")
		}
	}},
	{"case", func(w *world, dir string) {
		w.put(dir+"/Foo", "Foo\n", 0o644)
		w.put(dir+"/foo", "foo\n", 0o644)
		w.put(dir+"/Bar", "Bar\n", 0o644)
	}, func(w *world, dir string) {
		w.put(dir+"/foo", w.text("\n"), 0o644)
		switch w.below(3) {
		case 0:
			w.rename(dir+"/Bar", dir+"/bar")
		case 1:
			w.put(dir+"/bar", "bar\n", 0o644)
			w.refused = append(w.refused, dir+"/bar")
		}
	}},
	{"eol", func(w *world, dir string) {
		w.put(dir+"/.gitattributes", w.one("* text=auto\n", "*.x text eol=crlf\n", "*.x text\n", "*.x eol=lf\n*.y -text\n"), 0o644)
		w.put(dir+"/a.x", "one\r\ntwo\r\n", 0o644)
		w.put(dir+"/b.x", "one\ntwo\n", 0o644)
		w.put(dir+"/c.y", "one\r\ntwo\n", 0o644)
	}, func(w *world, dir string) {
		w.put(dir+"/"+w.one("a.x", "b.x", "c.y", "new.x"), w.text(w.one("\n", "\r\n")), 0o644)
		w.put(dir+"/"+w.one("a.x", "b.x", "c.y"), w.text(w.one("\n", "\r\n")), 0o644)
		if w.below(3) == 0 { // git may store both as before
			w.turn(dir + "/a.x")
			w.turn(dir + "/b.x")
		}
		if w.below(4) == 0 {
			w.put(dir+"/.gitattributes", w.one("*.x text\n", "*.y text eol=crlf\n", "* -text\n"), 0o644)
		}
	}},
	{"stored otherwise", func(w *world, dir string) {
		w.put(dir+"/win.z", "stored\r\nso\r\n", 0o644)
		w.put(dir+"/too.z", "stored\r\nso too\r\n", 0o644)
		w.late(dir+"/.gitattributes", w.one("*.z text\n", "*.z text eol=crlf\n", "*.z text=auto\n"))
	}, func(w *world, dir string) {
		w.put(dir+"/"+w.one("win.z", "new.z"), w.text(w.one("\n", "\r\n")), 0o644)
	}},
	{"encoding", func(w *world, dir string) {
		w.put(dir+"/.gitattributes", "*.u text working-tree-encoding=UTF-16LE-BOM\n*.l working-tree-encoding=ISO-8859-1\n*.v working-tree-encoding=UTF-16\n", 0o644)
		w.put(dir+"/a.u", utf16("one\n"), 0o644)
		w.put(dir+"/a.l", "gr\xfc\xdfe\n", 0o644)
	}, func(w *world, dir string) {
		w.put(dir+"/a.u", utf16(w.text("\n")), 0o644)
		w.put(dir+"/a.l", "gr\xfcn\n", 0o644)
		if w.below(4) == 0 {
			w.put(dir+"/b.v", "without a byte order mark", 0o644)
			w.refused = append(w.refused, dir+"/b.v")
		}
	}},
	{"LFS pointer", func(w *world, dir string) {
		w.put(dir+"/.gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n", 0o644)
		w.put(dir+"/a.dat", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0f", 32)+"\nsize 7\n", 0o644)
	}, func(w *world, dir string) {
		w.rename(dir+"/a.dat", dir+"/"+w.one("b.dat", "c"))
		w.put(dir+"/d.dat", w.text("\r\n"), 0o644)
	}},
	{"rename of a file", func(w *world, dir string) { w.put(dir+"/old", strings.Repeat("line\n", 9), 0o644) }, func(w *world, dir string) {
		w.rename(dir+"/old", dir+"/"+w.one("new", "deep/new", "new ü"))
	}},
	{"rename of a directory", func(w *world, dir string) {
		w.put(dir+"/d/a", "a\n", 0o644)
		w.put(dir+"/d/e/b", "b\r\n", 0o755)
	}, func(w *world, dir string) { w.rename(dir+"/d", dir+"/"+w.one("n", "x/n", "D")) }},
	{"another kind", func(w *world, dir string) {
		w.put(dir+"/f", "f\n", 0o644)
		w.put(dir+"/d/a", "a\n", 0o644)
		w.link(dir+"/l", "f")
	}, func(w *world, dir string) {
		for _, name := range []string{"f", "d", "l"} {
			w.remove(dir + "/" + name)
			switch w.below(4) {
			case 0:
				w.put(dir+"/"+name, w.text("\n"), 0o644)
			case 1:
				w.put(dir+"/"+name+"/b", w.text("\n"), 0o644)
			case 2:
				w.link(dir+"/"+name, "a")
			}
		}
	}},
	{"ident", func(w *world, dir string) {
		w.put(dir+"/.gitattributes", "*.c ident\n", 0o644)
		w.put(dir+"/a.c", "/* $Id$ */\nint a;\n", 0o644)
	}, func(w *world, dir string) {
		w.put(dir+"/a.c", w.one("/* $Id: x $ */\n", "/* $Id$ */\n", "/* none */\n")+w.text("\n"), 0o644)
	}},
}

// world is a work tree that is made or edited. The same numbers do the same to another one.
type world struct {
	t    testing.TB
	top  string
	draw *rand.Rand
	// forced are ignored files that are tracked, later those that were stored before their attributes.
	forced, later map[string]string
	// renamed are ignored new names that land, refused paths: a refusal names one of them.
	renamed, refused []string
}

func (w *world) below(n int) int            { return w.draw.IntN(n) }
func (w *world) one(of ...string) string    { return of[w.below(len(of))] }
func (w *world) mode() os.FileMode          { return []os.FileMode{0o644, 0o755}[w.below(2)] }
func (w *world) path(name string) string    { return filepath.Join(w.top, filepath.FromSlash(name)) }
func (w *world) force(name, content string) { w.forced[name] = content }
func (w *world) late(name, content string)  { w.later[name] = content }

func (w *world) text(end string) string {
	var out string
	for range 1 + w.below(4) {
		out += strconv.Itoa(w.below(1000)) + end
	}
	return out
}

func (w *world) put(name, content string, mode os.FileMode) {
	if info, err := os.Lstat(w.path(name)); err == nil && !info.Mode().IsRegular() {
		w.remove(name)
	}
	edit(w.t, w.path(name), content)
	w.chmod(name, mode)
}

// turn gives a file the other ends of lines.
func (w *world) turn(name string) {
	content := read(w.t, w.path(name))
	turned := strings.ReplaceAll(content, "\r\n", "\n")
	if turned == content {
		turned = strings.ReplaceAll(content, "\n", "\r\n")
	}
	w.put(name, turned, 0o644)
}

func (w *world) chmod(name string, mode os.FileMode) {
	require.NoError(w.t, os.Chmod(w.path(name), mode))
}
func (w *world) remove(name string) { require.NoError(w.t, os.RemoveAll(w.path(name))) }

func (w *world) link(name, target string) {
	w.remove(name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	require.NoError(w.t, os.Symlink(target, w.path(name)))
	later := unix.NsecToTimeval(time.Now().Add(20 * time.Second).UnixNano())
	require.NoError(w.t, unix.Lutimes(w.path(name), []unix.Timeval{later, later}))
}

func (w *world) rename(from, to string) {
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(to)), 0o755))
	require.NoError(w.t, os.Rename(w.path(from), w.path(to)))
}

// TestTheSameTree compares the files of a slot with those of a plain clone, and what is collected with what git add -A stores there,
// over pairs of features.
func TestTheSameTree(t *testing.T) {
	t.Parallel()
	sameTrees(t, 60, 1)
}

func TestSlowTheSameTree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it makes 200 repositories")
	}
	sameTrees(t, 200, 1000)
}

func sameTrees(t *testing.T, count int, seed uint64) {
	t.Helper()
	var pairs [][2]int
	for one := range features {
		for two := range one {
			pairs = append(pairs, [2]int{one, two})
		}
	}
	for i := range count {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			pair := pairs[i*len(pairs)/min(count, len(pairs))%len(pairs)]
			sameTree(t, seed+uint64(i), pair[0], pair[1])
		})
	}
}

func sameTree(t *testing.T, seed uint64, one, two int) {
	t.Helper()
	t.Logf("%s and %s, seed %d", features[one].name, features[two].name, seed)
	dirs := [][2]string{{"a", "b"}, {"a", "a/b"}, {"a/b", "a"}}[seed%3]
	user := filepath.Join(t.TempDir(), "user")
	require.NoError(t, os.Mkdir(user, 0o755))
	userGit(t, user, "init", "-q", "-b", "main")
	w := &world{t: t, top: user, draw: rand.New(rand.NewPCG(seed, 1)), forced: map[string]string{}, later: map[string]string{}}
	w.put("top", "top\n", 0o644)
	features[one].base(w, dirs[0])
	features[two].base(w, dirs[1])
	userGit(t, user, "-c", "core.safecrlf=false", "add", "-A")
	for _, late := range []map[string]string{w.forced, w.later} {
		for name, content := range late {
			w.put(name, content, 0o644)
			userGit(t, user, "add", "-f", name)
		}
	}
	userGit(t, user, "commit", "-q", "-m", "base")
	b := mirrorOf(t, user)
	s, clone := b.slot(t), plainClone(t, user)
	requireSameFiles(t, clone, s.Dir())

	for round := range 2 { // the second one on what the first left
		draw := seed + uint64(round)
		var refused []string
		for _, top := range []string{clone, s.Dir()} {
			w := &world{t: t, top: top, draw: rand.New(rand.NewPCG(draw, 2))}
			features[one].edit(w, dirs[0])
			features[two].edit(w, dirs[1])
			if refused = w.refused; top == clone {
				for _, name := range w.renamed {
					userGit(t, clone, "add", "-f", "-N", name)
					younger(t, clone)
				}
			}
		}
		p, _, err := s.Collect(t.Context(), b.base, "m", author, noon)
		content, is := errors.AsType[*workspace.ContentError](err)
		if is {
			require.True(t, slices.ContainsFunc(refused, func(name string) bool { return strings.Contains(content.Why, name) }),
				"%s names none of %q", content.Why, refused)
		} else {
			require.NoError(t, err)
			require.Empty(t, refused)
			want := addAll(t, clone)
			if p == nil {
				require.Equal(t, want, userGit(t, clone, "rev-parse", "HEAD^{tree}"))
			} else if want != p.Tree {
				require.Equal(t, userGit(t, clone, "ls-tree", "-r", want), userGit(t, s.Dir()+".git", "ls-tree", "-r", p.Tree))
			}
		}
		require.NoError(t, s.Reset(t.Context(), b.base))
		clone = plainClone(t, user)
		requireSameFiles(t, clone, s.Dir())
	}
}

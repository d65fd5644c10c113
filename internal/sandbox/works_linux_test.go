package sandbox

import (
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slot is a place as attempts have it, with a cache.
type slot struct {
	place

	where Place
	cache Cache
}

// newSlot makes a slot with the user's own build cache, so that no test compiles the standard library.
func newSlot(t *testing.T, p place, files map[string]string) slot {
	t.Helper()
	tool, err := AskGo(t.Context(), os.Environ())
	require.NoError(t, err)
	s := slot{place: p, where: Place{Tree: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir()}}
	s.cache, err = Caches{Dir: t.TempDir(), Go: tool}.at(p.level, Gates, s.where, t.TempDir())
	require.NoError(t, err)
	s.where.Downloads = s.cache.Downloads
	if tool.BuildCache != "" {
		require.NoError(t, os.MkdirAll(tool.BuildCache, 0o700))
		s.cache.Env["GOCACHE"] = tool.BuildCache
		s.cache.Writable = append(s.cache.Writable, tool.BuildCache)
	}
	seen := s.where
	if p.level.have(Namespaces) {
		seen = s.where.shown(p.level)
	}
	s.env, err = Env(Settings{
		Base: os.Environ(), Path: s.cache.Path, Home: seen.Home, Temp: seen.Temp, Vars: s.cache.Env,
	})
	require.NoError(t, err)
	for name, text := range files {
		path := filepath.Join(s.where.Tree, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return s
}

func (s slot) shell(script string) Command {
	return Command{
		Args: []string{"sh", "-c", script}, Dir: s.where.Tree, Env: s.env, Place: s.where,
		Writable: s.cache.Writable, Readable: s.cache.Readable,
	}
}

var goModule = map[string]string{
	"go.mod": "module tiny\n\ngo 1.26\n",
	"a.go":   "package tiny\n\nimport \"runtime\"\n\nfunc A() string { _, file, _, _ := runtime.Caller(0); return file }\n",
	"new.go": "package tiny\n\nvar New = \"\"\n",
	"a_test.go": `package tiny

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
}

func TestListeners(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp6", "unix"} {
		address := map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "unix": filepath.Join(t.TempDir(), "s")}[network]
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		l.Close()
	}
	p, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

func TestOwnSource(t *testing.T) {
	if _, err := os.Stat(A()); err != nil {
		t.Fatal(err)
	}
}

func TestPlaces(t *testing.T) {
	t.Log(New)
	if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if home, err := os.UserHomeDir(); err != nil || home == "" {
		t.Fatal(home, err)
	}
}
`,
}

// One slot's build and test results serve another: both are shown at the same path.
func TestWorksForGo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		files := maps.Clone(goModule)
		files["new.go"] = "package tiny\n\nvar New = \"" + rand.Text() + "\"\n" // no cache has this yet
		first := newSlot(t, p, files)
		out := first.run(t, first.shell("go build ./... && go vet ./... && go test ./... && pwd"))
		require.True(t, out.Success(), out.Text())
		require.Contains(t, out.Text(), "ok  \ttiny")
		require.Contains(t, out.Text(), seenTree)
		const portable = "go test -run 'Server|Listeners|Places' ./..." // the go command looks at the times of files of the tree
		out = first.run(t, first.shell(portable))
		require.True(t, out.Success(), out.Text())
		require.NotContains(t, out.Text(), "(cached)")
		second := newSlot(t, p, files)
		out = second.run(t, second.shell(portable))
		require.True(t, out.Success(), out.Text())
		require.Contains(t, out.Text(), "(cached)")
	}, full, sharedUser)
}

// On a machine without namespaces a build still works.
func TestWorksForGoWithoutNamespaces(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		s := newSlot(t, p, goModule)
		out := s.run(t, s.shell("go build ./... && go vet ./... && go test -run 'Places' ./... && GOFLAGS= go test -run Own ./..."))
		require.True(t, out.Success(), out.Text())
	}, oneWorld, noFilter)
}

// Git works in a tree that is a repository, also where another user owns it, and in repositories that commands make: also where they drop every
// variable, or have a home of their own.
func TestWorksForGit(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		s := newSlot(t, p, map[string]string{"a.txt": "one\n"})
		s.where.InitBranch = `tr"unk`
		lone := "export PATH=" + os.Getenv("PATH") + "; cd $(mktemp -d) && git init -q . && git branch --show-current && git commit -q --allow-empty -m x"
		for _, command := range []string{
			"git init -q . && git add a.txt && git commit -qm first && git log --format=%an:%ae:%s && git status --short",
			"cd $(mktemp -d) && git init -q . && git branch --show-current && git commit -q --allow-empty -m x",
			"HOME=$TMPDIR/x; " + lone, `git config user.name own && test "$(git config user.name)" = own`,
		} {
			out := s.run(t, s.shell(command))
			require.True(t, out.Success(), out.Text())
			require.NotContains(t, out.Text(), "hint")
			require.NotContains(t, out.Text(), "GIT_DIR")
		}
		out := s.run(t, s.shell("git log --format=%an:%ae:%s; git branch --show-current; env | grep ^GIT_"))
		require.Equal(t, "Divisi:divisi@localhost:first\ntr\"unk\n", strings.Join(strings.SplitAfter(out.Text(), "\n")[:2], ""))
		require.NotContains(t, out.Text(), "GIT_DIR")
		if p.level.have(Namespaces) {
			out := s.run(t, s.shell("env -i sh -c '"+strings.ReplaceAll(lone, "'", "")+"'"))
			require.True(t, out.Success(), out.Text())
		}
	}, full, sharedUser, oneWorld, noFilter)
}

// Where git's settings lie in the home, nothing is written through what a command has put there.
func TestGitConfigIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		s := newSlot(t, p, nil)
		outside := filepath.Join(t.TempDir(), "x")
		require.NoError(t, os.Symlink(outside, filepath.Join(s.where.Home, ".divisi-gitconfig")))
		out := s.run(t, s.shell("true"))
		require.True(t, out.Success(), out.Text())
		require.NoFileExists(t, outside)
	}, oneWorld, noFilter, nothing)
}

func TestWorksForMake(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"make", "cc"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		s := newSlot(t, p, map[string]string{
			"Makefile": "all: hello\n\t./hello\nhello: hello.c\n\t$(CC) -o $@ $<\n",
			"hello.c":  "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n",
		})
		out := s.run(t, s.shell("make -j4"))
		require.True(t, out.Success(), out.Text())
		require.Contains(t, out.Text(), "\nhello\n")
	}, full, sharedUser, oneWorld, noFilter)
}

func TestWorksWithTerminals(t *testing.T) {
	t.Parallel()
	onRungs(t, func(t *testing.T, p place) {
		t.Helper()
		out := p.run(t, p.shell(`python3 -c 'import pty; pty.spawn(["tty"])'; tty; ! echo > /dev/tty`))
		require.Contains(t, out.Text(), "/dev/pts/0")
		require.Contains(t, out.Text(), "not a tty")
	}, full, sharedUser)
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// started when it is imported, by a dependency of the genai library; it never ends
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// bench is a work tree with tools over it.
type bench struct {
	t   *testing.T
	dir string
	set *Set
}

// newBench makes a tree of files (path -> content) and every tool over it; change may alter the environment.
func newBench(t *testing.T, files map[string]string, change func(*Env)) *bench {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o750))
		require.NoError(t, os.WriteFile(full, []byte(content), 0o600))
	}
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	env := Env{
		Root: root, Dir: dir, Runner: fakeRunner{}, Artifacts: &keeper{}, History: &fakeHistory{root: root}, Gates: fakeGates{},
	}
	if change != nil {
		change(&env)
	}
	set, err := Builtin(names(), env)
	require.NoError(t, err)
	return &bench{t, dir, set}
}

func names() []string {
	return []string{
		spec.ToolListFiles, spec.ToolReadFile, spec.ToolSearch, spec.ToolEditFile, spec.ToolWriteFile,
		spec.ToolRunCommand, spec.ToolLoadArtifact, spec.ToolGlob, spec.ToolOutline, spec.ToolGitLog,
		spec.ToolGitDiff, spec.ToolRunGates, spec.ToolReportProgress,
	}
}

type args = map[string]any

// oneEdit is the arguments of one edit.
func oneEdit(path, from, to string) args {
	return args{"edits": []any{args{"path": path, "old_text": from, "new_text": to}}}
}

func (b *bench) run(name string, a args) Result {
	b.t.Helper()
	return b.set.Run(b.t.Context(), Call{ID: "c1", Name: name, Args: a})
}

// ok runs a call that must succeed and returns its output.
func (b *bench) ok(name string, a args) string {
	b.t.Helper()
	r := b.run(name, a)
	require.False(b.t, r.Err, "%v", r.Output)
	text, isText := r.Output["output"].(string)
	require.True(b.t, isText)
	return text
}

// fails runs a call that must fail and returns what it says.
func (b *bench) fails(name string, a args) string {
	b.t.Helper()
	r := b.run(name, a)
	require.True(b.t, r.Err, "%v", r.Output)
	text, isText := r.Output["error"].(string)
	require.True(b.t, isText)
	return text
}

func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	require.NoError(b.t, err)
	return string(data)
}

// fakeRunner answers with what it was asked.
type fakeRunner struct {
	output func(Command) (Output, error)
}

func (f fakeRunner) Run(_ context.Context, c Command) (Output, error) {
	if f.output == nil {
		return Output{Text: c.Shell}, nil
	}
	return f.output(c)
}

// fakeHistory ignores what lies below build, and answers with what it was asked.
type fakeHistory struct {
	root *os.Root
	text string
	cut  bool
	fail error
}

func (f *fakeHistory) Files(context.Context) (names []string, err error) {
	err = fs.WalkDir(f.root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && !strings.HasPrefix(name, "build/") {
			names = append(names, name)
		}
		return nil
	})
	return names, errors.Join(err, f.fail)
}

func (f *fakeHistory) Log(_ context.Context, path string, limit int) (string, error) {
	if f.text == "" {
		return "", f.fail
	}
	return fmt.Sprintf("%s %s %d\n", f.text, path, limit), f.fail
}

func (f *fakeHistory) Diff(_ context.Context, commit, path string, limit int) (string, bool, error) {
	if f.text == "" {
		return "", false, f.fail
	}
	return fmt.Sprintf("%s %s %s %d\n", f.text, commit, path, limit), f.cut, f.fail
}

// fakeGates are gates by name.
type fakeGates map[string]GateRun

func (f fakeGates) Names() []string { return slices.Sorted(maps.Keys(f)) }

func (f fakeGates) Run(_ context.Context, name string) (GateRun, error) {
	r := f[name]
	if len(r.Command) == 0 {
		return r, errors.New("no such program")
	}
	r.Gate = name
	return r, nil
}

// keeper keeps artifacts.
type keeper struct {
	mu   sync.Mutex
	data map[string][]byte
	fail error
}

func (m *keeper) Put(_ context.Context, name string, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return "", m.fail
	}
	if m.data == nil {
		m.data = map[string][]byte{}
	}
	m.data[name] = data
	return name, nil
}

func (m *keeper) Get(_ context.Context, handle string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.data[handle]
	if !ok {
		return nil, errors.New("there is no such artifact")
	}
	return data, nil
}

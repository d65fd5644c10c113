package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool/commands"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// started when it is imported, by a dependency of the genai library; it never ends
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// newBench makes a tree of files (path -> content) and the file tools over it; change may alter the configuration.
func newBench(t testing.TB, files map[string]string, change func(*Config)) *tooltest.Bench {
	t.Helper()
	b, root := tooltest.New(t, files)
	c := Config{Root: root, Dir: b.Dir, Runner: fakeRunner{}, History: &fakeHistory{root: root}}
	if change != nil {
		change(&c)
	}
	return b.Use(Tools(c)...)
}

// treeOver makes a tree of files as the tools see it, without History, Runner and ripgrep.
func treeOver(t testing.TB, files map[string]string) (*tooltest.Bench, *tree) {
	t.Helper()
	b, root := tooltest.New(t, files)
	return b, &tree{Config: Config{Root: root, Dir: b.Dir, Scope: NewScope(spec.WriteSet{})}}
}

// editOf is the arguments of one edit.
func editOf(path, from, to string) tooltest.Args {
	return tooltest.Args{"edits": []any{tooltest.Args{"path": path, "old_text": from, "new_text": to}}}
}

// fakeRunner answers with what it was asked.
type fakeRunner struct {
	output func(commands.Command) (commands.Output, error)
}

func (f fakeRunner) Run(_ context.Context, c commands.Command) (commands.Output, error) {
	if f.output == nil {
		return commands.Output{Text: c.Shell}, nil
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

package conduct

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// write writes a role file with a command, and with what else its front matter has.
func write(t *testing.T, file, command, more string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	text := "---\nname: x\nexecutor: command\ncommand: [" + command + "]\n" + more + "---\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// at is the half of a run of a repository whose state directory keeps nothing.
func at(repo string) *Half { return &Half{Checkout: &git.Checkout{Top: repo}} }

// Of a role that no file of the repository makes now, only a file that a person had named is read again.
func TestWhatIsReadAgain(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	require.NoError(t, exec.Command("git", "init", "-q", filepath.Join(here, "repo")).Run())
	const own = ".divisi/roles/x.md"
	for name, tt := range map[string]struct {
		had    spec.Role
		files  map[string][2]string // below the repository, or in the current directory
		retry  Retry
		want   string // the command; empty for a role that stays as it is
		named  bool
		refuse string
	}{
		"a role of the repository": {
			had: spec.Role{Source: own}, files: map[string][2]string{"repo/" + own: {"new", ""}}, want: "new",
		},
		"with secrets now": {
			had:    spec.Role{Source: own},
			files:  map[string][2]string{"repo/" + own: {"evil", "secrets: [A_KEY]\nnetwork: true\nloopback: true\n"}},
			refuse: own + " was not loaded as a role: only a role file that you name yourself can use secrets",
		},
		"one of the current directory": {
			had: spec.Role{Source: own}, files: map[string][2]string{own: {"evil", "secrets: [A_KEY]\n"}},
		},
		"of a file that is not named": {
			had: spec.Role{Source: "mine.md", Secrets: []string{"A_KEY"}}, files: map[string][2]string{"mine.md": {"evil", ""}},
		},
		"of a file that is not named, with an absolute path": {
			had: spec.Role{Source: filepath.Join(here, "mine.md")}, files: map[string][2]string{"mine.md": {"evil", ""}},
		},
		"of a file that is not named, and a role of the repository": {
			had:   spec.Role{Source: "mine.md", Secrets: []string{"A_KEY"}},
			files: map[string][2]string{"mine.md": {"evil", ""}, "repo/" + own: {"new", ""}}, want: "new",
		},
		"a role that a person named": {
			had:   spec.Role{Source: "mine.md", Named: filepath.Join(here, "mine.md")},
			files: map[string][2]string{"mine.md": {"new", "secrets: [A_KEY]\n"}, "repo/" + own: {"evil", ""}}, want: "new", named: true,
		},
		"one that lies in the repository": {
			had:   spec.Role{Source: own, Named: filepath.Join(here, "repo", own)},
			files: map[string][2]string{"repo/" + own: {"new", ""}}, want: "new", named: true,
		},
		"one that lies in the repository, and has secrets now": {
			had:    spec.Role{Source: own, Named: filepath.Join(here, "repo", own)},
			files:  map[string][2]string{"repo/" + own: {"evil", "secrets: [A_KEY]\n"}},
			refuse: "a pull can have changed it",
		},
		"one that lies in the repository, and has had secrets": {
			had:    spec.Role{Source: own, Named: filepath.Join(here, "repo", own), Secrets: []string{"A_KEY"}},
			files:  map[string][2]string{"repo/" + own: {"evil", "secrets: [A_KEY]\n"}},
			retry:  Retry{Retry: act.Retry{Role: "x"}},
			refuse: "a pull can have changed it",
		},
		"one that lies in the repository, and is named again": {
			had:   spec.Role{Source: own, Named: filepath.Join(here, "repo", own)},
			files: map[string][2]string{"repo/" + own: {"new", "secrets: [A_KEY]\n"}},
			retry: Retry{RoleFile: &File{
				Name: filepath.Join(here, "repo", own), Data: []byte("---\nname: x\ncommand: [given]\nsecrets: [A_KEY]\n---\n"),
			}},
			want: "given", named: true,
		},
		"one that is gone": {
			had:   spec.Role{Source: "mine.md", Named: filepath.Join(here, "mine.md")},
			files: map[string][2]string{"repo/" + own: {"evil", ""}},
		},
		"a file of the repository that a person names now": {
			had:   spec.Role{Source: own},
			files: map[string][2]string{"repo/" + own: {"new", "secrets: [A_KEY]\n"}},
			retry: Retry{RoleFile: &File{Name: own, Data: []byte("---\nname: x\ncommand: [given]\nsecrets: [A_KEY]\n---\n")}},
			want:  "given", named: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range tt.files {
				write(t, filepath.Join(here, file), text[0], text[1])
				t.Cleanup(func() { require.NoError(t, os.Remove(filepath.Join(here, file))) })
			}
			tt.had.Name, tt.had.Executor, tt.had.Command = "x", spec.ExecutorCommand, []string{"old"}
			st := run.NewState()
			st.Spec.Roles, st.Tasks.Order = map[string]spec.Role{"x": tt.had}, []string{"a"}
			st.Tasks.ByID["a"] = &run.Task{Task: spec.Task{ID: "a", Role: "x"}}
			set, _, err := at(filepath.Join(here, "repo")).readAgain(st, &tt.retry, "")
			if tt.refuse != "" {
				require.ErrorContains(t, err, tt.refuse)
				return
			}
			require.NoError(t, err)
			got, is := set.Roles["x"]
			require.Equal(t, tt.want != "", is)
			if is {
				require.Equal(t, []string{tt.want}, got.Command)
			}
			if tt.had.Named != "" && is {
				require.Equal(t, tt.had.Source, got.Source, "that it was read again is no change")
			}
			require.Equal(t, tt.named, filepath.IsAbs(got.Named))
		})
	}
}

// The file that a person had named for one role makes another one now: that is no role that the person named.
func TestAFileThatAPersonNamedMakesNoOtherRole(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", repo).Run())
	file := filepath.Join(repo, "own.md")
	write(t, file, "evil", "secrets: [A_KEY]\n")
	st := run.NewState()
	st.Spec.Roles = map[string]spec.Role{
		"fix": {Name: "fix", Source: "own.md", Named: file, Executor: spec.ExecutorCommand, Command: []string{"old"}},
		"x":   {Name: "x", Source: configs.BuiltIn, Executor: spec.ExecutorCommand, Command: []string{"old"}},
	}
	_, _, err := at(repo).readAgain(st, &Retry{}, "")
	require.ErrorContains(t, err, "a pull can have changed it")
	require.ErrorContains(t, err, "role x has secrets")
	write(t, file, "new", "")
	set, _, err := at(repo).readAgain(st, &Retry{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, set.Roles["x"].Command, "a role of the repository may do as much")
}

// A retry needs the roles that a new run of the plan needs, and those of the tasks that the run has.
func TestARetryNeedsWhatARunNeeds(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", repo).Run())
	file := filepath.Join(repo, ".divisi", "roles", "x.md")
	x := spec.Role{Name: "x", Executor: spec.ExecutorCommand, Command: []string{"old"}}
	mod := spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sed"}}
	lead := spec.Role{Name: "lead", Executor: spec.ExecutorModel, Tools: []string{spec.ToolDelegate}, Delegates: []string{"x"}}
	for name, tt := range map[string]struct {
		plan  *spec.Plan
		task  spec.Task
		role  string // that the tasks are to have
		front string
		want  bool
	}{
		"no task has it": {&spec.Plan{}, spec.Task{Role: "mod"}, "", "name: x\nnope: 1\n", false},
		"a task has it":  {&spec.Plan{}, spec.Task{Role: "x"}, "", "name: x\nnope: 1\n", true},
		"a judge has it": {&spec.Plan{}, spec.Task{Role: "mod", Verify: "x"}, "", "name: x\nnope: 1\n", true},
		"the plan has it": {
			&spec.Plan{Tasks: []spec.Task{{Role: "mod", Verify: "x"}}}, spec.Task{Role: "mod"}, "", "name: x\nnope: 1\n", true,
		},
		"a delegate has it":              {&spec.Plan{}, spec.Task{Role: "lead"}, "", "name: x\nnope: 1\n", true},
		"it is to have it":               {&spec.Plan{}, spec.Task{Role: "mod"}, "x", "name: x\nnope: 1\n", true},
		"the tester":                     {&spec.Plan{}, spec.Task{Role: "mod"}, "", "name: tester\nnope: 1\n", true},
		"a built-in one":                 {&spec.Plan{}, spec.Task{Role: "mod"}, "", "name: reader\nnope: 1\n", false},
		"a built-in one, with a goal":    {nil, spec.Task{Role: "mod"}, "", "name: reader\nnope: 1\n", true},
		"a judge has it, with a goal":    {nil, spec.Task{Role: "mod", Verify: "x"}, "", "name: x\nnope: 1\n", true},
		"no task has it, with a goal":    {nil, spec.Task{Role: "mod"}, "", "name: x\nnope: 1\n", false},
		"its name could not be read":     {&spec.Plan{}, spec.Task{Role: "mod"}, "", "name: tester\na: [\n", true},
		"its name could not, and a goal": {nil, spec.Task{Role: "mod"}, "", "name: tester\na: [\n", true},
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte("---\n"+tt.front+"---\nDo.\n"), 0o600))
		st := run.NewState()
		st.Spec.Plan, st.Spec.Roles = tt.plan, map[string]spec.Role{"x": x, "mod": mod, "lead": lead}
		st.Tasks.Order, st.Tasks.ByID["a"] = []string{"a"}, &run.Task{Task: tt.task}
		set, _, err := at(repo).readAgain(st, &Retry{}, "")
		require.NoError(t, err, name)
		notes, err := brokenAgain(st, set, tt.plan, tt.role)
		if tt.want {
			require.ErrorContains(t, err, ".divisi/roles/x.md", name)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, notes, 1, name)
		require.Contains(t, notes[0], "of .divisi/roles/x.md cannot be used, and this run does not name it", name)
	}
}

// A file cannot claim that a person has named it.
func TestNoFileNamesItself(t *testing.T) {
	t.Parallel()
	_, err := configs.ParseRole("x.md", "---\ncommand: [a]\nnamed: /x.md\n---\n")
	require.ErrorContains(t, err, "named")
}

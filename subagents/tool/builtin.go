package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"divisi/internal/spec"
)

// Env is what the built-in tools work on.
type Env struct {
	// Root is the work tree. All file tools go through it; the caller closes it after the set's last use.
	Root *os.Root
	// Dir is the work tree's absolute path, as commands see it. Paths below it are taken for paths in the tree.
	Dir string
	// Scope is what may be written; nil means WriteSet and Protected, for good.
	Scope *Scope
	// WriteSet are the paths and globs that may be written; empty means anything that is not protected.
	WriteSet []string
	// Protected are globs that may be written only when the write set names them.
	Protected []string
	// Runner carries out commands, confined; nil where no tool needs one.
	Runner Runner
	// MaxCommand caps the time of one command; zero means 10 minutes.
	MaxCommand time.Duration
	// History is the tree as git sees it, for git_log and git_diff, and for glob to know what is ignored; Gates are those of the
	// task. Both may be nil where no tool needs them.
	History History
	Gates   Gates
	// Report is given what report_progress tells; may be nil. It is called while tools run.
	Report func(line string)
	// Artifacts keeps large outputs; may be nil. Where it is an ArtifactReader too, load_artifact can read them.
	Artifacts Artifacts
	// Events shows the agent events of its own session; nil where it has none. Known are the handles that the agent was
	// told of, to name the nearest one; it may be nil, and is called while tools run.
	Events EventReader
	Known  func() []string
	// ToolOutput says what becomes of large output, by tool. Summarizer and Sought serve its summaries; both may be nil.
	ToolOutput map[string]spec.ToolOutput
	Summarizer Summarizer
	Sought     func() Sought
	// Memory is searched by load_memory, Proposer keeps what save_memory proposes, for Source; both may be nil.
	Memory   MemoryReader
	Proposer MemoryProposer
	Source   string
	// Output is the role's own schema of what it submits; may be empty.
	Output json.RawMessage
	// Constraints are those of the task, each once: submit_result wants an echo of each.
	Constraints []string
	// Ripgrep is the path of rg; empty means the one on PATH, "-" that none is used. The results are the same.
	Ripgrep string
	// Extra are tools from elsewhere, such as dispatch, which names can choose like the built-in ones.
	Extra []Tool
}

// Builtin returns the named tools over env. submit_result is always among them. The error lists every name that is unknown
// or that env cannot serve.
func Builtin(names []string, env Env) (*Set, error) {
	if env.Root == nil {
		return nil, errors.New("tools need the root of a work tree")
	}
	submit, err := newSubmitResult(env.Output, env.Constraints)
	if err != nil {
		return nil, err
	}
	submit.artifacts, _ = env.Artifacts.(ArtifactReader)
	files := &tree{root: env.Root, dir: env.Dir, writes: env.scope()}
	all := map[string]Tool{
		spec.ToolListFiles:      &listFiles{files},
		spec.ToolGlob:           &glob{files, env.History},
		spec.ToolReadFile:       &readFile{files},
		spec.ToolOutline:        &outline{files, env.Runner},
		spec.ToolSearch:         &search{files, ripgrep(env.Ripgrep)},
		spec.ToolEditFile:       &editFile{files},
		spec.ToolWriteFile:      &writeFile{files},
		spec.ToolLoadArtifact:   newLoadArtifact(&env),
		spec.ToolLoadMemory:     &loadMemory{env.Memory},
		spec.ToolSaveMemory:     &saveMemory{env.Proposer, env.Source},
		spec.ToolReportProgress: &reportProgress{env.Report},
		spec.ToolSubmitResult:   submit,
	}
	if env.Runner != nil {
		all[spec.ToolRunCommand] = &runCommand{env.Runner, commandCap(env.MaxCommand)}
	}
	if env.History != nil {
		all[spec.ToolGitLog], all[spec.ToolGitDiff] = &gitLog{files, env.History}, &gitDiff{files, env.History}
	}
	if env.Gates != nil {
		all[spec.ToolRunGates] = &runGates{env.Gates}
	}
	for _, t := range env.Extra {
		all[t.Declaration().Name] = t
	}
	return choose(all, names, env)
}

func (e *Env) scope() *Scope {
	if e.Scope != nil {
		return e.Scope
	}
	return NewScope(spec.WriteSet{Files: e.WriteSet, Protected: e.Protected})
}

// lacking says what a tool lacks that is not there.
var lacking = map[string]string{
	spec.ToolRunCommand: "runner", spec.ToolRunGates: "gates", spec.ToolGitLog: "history", spec.ToolGitDiff: "history",
}

func choose(all map[string]Tool, names []string, env Env) (*Set, error) {
	known := make([]string, 0, len(all))
	for name := range all {
		known = append(known, name)
	}
	var chosen []Tool
	var errs []error
	for i, name := range append(slices.Clone(names), spec.ToolSubmitResult) {
		t, ok := all[name]
		switch {
		case slices.Contains(names[:min(i, len(names))], name):
		case ok:
			chosen = append(chosen, t)
		case lacking[name] != "":
			errs = append(errs, fmt.Errorf("the tool %s has no %s here", name, lacking[name]))
		default:
			hint := ""
			if near := spec.Nearest(name, known); near != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", near)
			}
			errs = append(errs, fmt.Errorf("there is no tool %q%s", name, hint))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	guard := &Guard{Artifacts: env.Artifacts, Policies: env.ToolOutput, Summarizer: env.Summarizer, Sought: env.Sought}
	return NewSet(guard, chosen...)
}

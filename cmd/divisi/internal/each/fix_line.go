package each

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/round"
)

// Fix is a line that fixes what a checker finds, as a person types it.
type Fix struct {
	// Checker is the command whose findings are fixed, Gate the name of a gate of the project in its place.
	Checker []string
	Gate    string
	// Fixers are lines of a shell: {files} in one are the files of its task, and one without it is for the whole tree. The tool's
	// own fixes come before them, but with NoOwn; a pattern of ast-grep comes after them.
	Fixers                 []string
	NoOwn                  bool
	Pattern, Rewrite, Lang string
	// Role fixes the rest, as Brief says.
	Role, Brief string
	// By is whose findings one task gets, Rounds how many there are at most; their zero values are the defaults.
	By     string
	Rounds int
	// AllowSuppress is how many times the fixes may silence a checker without a question.
	AllowSuppress int
	// IsPath reports whether an argument of the checker is a path of the repository; nil where none is.
	IsPath func(arg string) bool
}

// fixName is the name of the role and of the template.
const fixName = "fix"

// groups are whose findings one task can get.
var groups = []string{round.ByFile, round.ByPackage, round.BySymbol, round.ByCode, round.ByOwner}

// noName matches characters that the name of a gate cannot have.
var noName = lazyregexp.New(`[^A-Za-z0-9_-]+`)

// Change is the plan and the role of the line, and the gate that it needs beside the project's; where Gate names one of these,
// Checker is its command. The error is one of usage.
func (f Fix) Change() (c Change, beside []spec.Gate, err error) {
	if err := f.kind(); err != nil {
		return c, nil, err
	}
	known := round.CheckerOf(f.Checker, f.IsPath)
	gate := f.Gate
	if gate == "" {
		gate = cmp.Or(known.Name, noName.ReplaceAllLiteralString(path.Base(f.Checker[0]), "-"))
		command := f.Checker
		if known.Name != "" {
			command = known.Gate
		}
		beside = []spec.Gate{{Name: gate, Command: command, Format: "findings"}}
	}
	ways, err := f.ways(known)
	if err != nil {
		return c, nil, err
	}
	checker := shown(f.Checker)
	c.Plan.Goal = text.OneLine("Fix what " + checker + " finds")
	template := spec.Task{
		ID: fixName, Title: text.Clip(c.Plan.Goal, maxTitle), Role: fixName, Mends: []string{gate}, Fixers: ways,
		Brief: cmp.Or(f.Brief, "Fix the findings of "+checker+"."),
		Shard: &spec.Shard{By: spec.ByFinding, Group: f.By, Rounds: f.Rounds}, AllowSuppress: f.AllowSuppress,
	}
	if ways[0].Role != "" {
		template.Role, template.Fixers = ways[0].Role, nil
	} else {
		c.Role = spec.Role{
			Name: fixName, Executor: spec.ExecutorCommand, Command: ways[0].Command,
			Description: text.Clip(c.Plan.Goal, text.MaxLine), Join: known.ByFile && !f.NoOwn,
		}
	}
	c.Plan.Tasks = []spec.Task{template}
	return c, beside, nil
}

// ways are the fixers in their order.
func (f Fix) ways(known round.Checker) (ways []spec.Fixer, err error) {
	if known.Fix != nil && !f.NoOwn {
		ways = append(ways, spec.Fixer{Command: known.Fix, Whole: !known.ByFile})
	}
	for _, line := range f.Fixers {
		script, err := ofFiles("--fixer", line)
		if err != nil {
			return nil, err
		}
		one := spec.Fixer{Command: []string{"sh", "-c", script, "sh", spec.ArgFiles}}
		if script == line {
			one = spec.Fixer{Command: []string{"sh", "-c", line}, Whole: true}
		}
		ways = append(ways, one)
	}
	if f.Pattern != "" {
		ways = append(ways, spec.Fixer{Command: astGrep(f.Pattern, f.Rewrite, f.Lang)})
	}
	if f.Role != "" {
		ways = append(ways, spec.Fixer{Role: f.Role})
	}
	if len(ways) == 0 {
		return nil, usage.Errorf("no fixes of %s itself are known: name what fixes its findings\n"+
			"A program: --fixer 'fix {files}'; by syntax: --ast-grep; a model: --role generator, or --agent claude",
			cmp.Or(known.Name, path.Base(f.Checker[0])))
	}
	return ways, nil
}

// kind reports, as an error of usage, why the line names no one checker.
func (f Fix) kind() error {
	const example = "divisi fix -- ruff check ."
	switch {
	case len(f.Checker) == 0 && f.Brief != "" && f.Role == "":
		return usage.Errorf("a checker goes after --: divisi fix -- %s", f.Brief)
	case len(f.Checker) == 0:
		return usage.Errorf("name the checker whose findings are to be fixed\n"+
			"A command: %s; a gate of the project: divisi fix --gate lint\nSee: divisi fix --help", example)
	case f.Rounds < 0:
		return usage.Errorf("--rounds must be at least 1, not %d", f.Rounds)
	case f.By != "" && !slices.Contains(groups, f.By):
		return usage.Errorf("--by must be %s, not %q", text.Some(groups, len(groups)), f.By)
	case !bySyntax(f.Pattern, f.Rewrite, f.Lang):
		return notBySyntax(f.Pattern)
	case strings.Contains(strings.Join(f.Checker, " "), spec.ArgFiles):
		return usage.Errorf("the checker runs on the whole tree: leave %s out, such as: %s", spec.ArgFiles, example)
	case f.Brief != "" && f.Role == "":
		return usage.Errorf(`a brief is for a model: divisi fix --role generator %s -- %s`, text.Shell(f.Brief), shown(f.Checker))
	}
	return nil
}

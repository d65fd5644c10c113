package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Gate is a command that decides pass or fail.
type Gate struct {
	Name     string   `json:"name" jsonschema:"Name of the gate, unique."`
	Command  []string `json:"command" jsonschema:"Program and arguments; no shell line. The argument {affected} becomes the parts that a change affects."`
	Affected []string `json:"affected,omitempty" jsonschema:"Command that reads the changed files, a line each, and prints the values of {affected}, a line each; default Go packages."`
	Full     []string `json:"full,omitempty" jsonschema:"Value of {affected} when the gate runs in full; ./... for Go, default nothing with a command in affected."`
	Format   string   `json:"format,omitempty" enum:"go-test-json,junit,tap,json,text,findings" jsonschema:"What its output speaks; default guessed from the command. json: the report of jest, vitest or mocha. findings: lines of a compiler or linter with the place of each finding."`
	Paths    []string `json:"paths,omitempty" jsonschema:"Globs of the files whose change starts it; default any file. A file that no gate's paths name starts all gates."`
	Timeout  Duration `json:"timeout,omitzero" jsonschema:"Then it is killed and red; default 15m."`
}

// InPaths reports whether the paths of a gate name a file. Those of Divisi itself concern all gates.
func (p *Project) InPaths(name string) bool {
	named := func(g Gate) bool { return MatchAny(g.Paths, name) }
	return !strings.HasPrefix(name, ".divisi/") && slices.ContainsFunc(p.Gates, named)
}

// ArgAffected is in a gate's command for what a change affects.
const ArgAffected = "{affected}"

// Narrows reports whether the gate can be run on what a change affects.
func (g *Gate) Narrows() bool { return slices.Contains(g.Command, ArgAffected) }

// On returns the gate's command for some targets.
func (g *Gate) On(targets []string) []string {
	var out []string
	for _, arg := range g.Command {
		if arg == ArgAffected {
			out = append(out, targets...)
		} else {
			out = append(out, arg)
		}
	}
	return out
}

// InFull returns the gate with the command of its full form.
func (g Gate) InFull() Gate {
	full := g.Full
	if len(g.Affected) == 0 {
		full = []string{"./..."}
	}
	g.Command = g.On(full)
	return g
}

func (p *Project) gateProblems(v *problems, i int) {
	gate, at := &p.Gates[i], fmt.Sprintf("gates[%d]", i)
	if !gateName.MatchString(gate.Name) {
		v.addf(at+".name", plainID(gate.Name), "gate name %q: a name is 1 to 64 letters, digits, dots, - and _", gate.Name)
	}
	if j := slices.IndexFunc(p.Gates[:i], func(g Gate) bool { return g.Name == gate.Name }); j >= 0 {
		v.addf(at+".name", "", "gate name %q is taken by gates[%d]", gate.Name, j)
	}
	if len(gate.Command) == 0 {
		v.addf(at+".command", "", "gate %q has no command", gate.Name)
	}
	v.argv(at+".command", gate.Command)
	for i, glob := range gate.Paths {
		if problem, instead := globProblem(glob); problem != "" {
			v.addf(fmt.Sprintf("%s.paths[%d]", at, i), instead, "%q: %s", glob, problem)
		}
	}
	gate.narrowProblems(v, at)
}

// narrowProblems faults an {affected} that is not replaced, and fields that nothing uses.
func (g *Gate) narrowProblems(v *problems, at string) {
	for i, arg := range g.Command {
		if strings.Contains(arg, ArgAffected) && (i == 0 || arg != ArgAffected) {
			v.addf(fmt.Sprintf("%s.command[%d]", at, i), "", "%s must be an argument of its own, after the program: a shell "+
				"gets it as \"$@\", with command: [sh, -c, 'npx jest \"$@\"', sh, '%s']", ArgAffected, ArgAffected)
		}
	}
	v.argv(at+".affected", g.Affected)
	for i, arg := range g.Full {
		v.text(fmt.Sprintf("%s.full[%d]", at, i), arg)
	}
	switch {
	case len(g.Affected) > 0 && !g.Narrows():
		v.addf(at+".affected", "", "no argument of the gate's command is %s: add it where the targets belong", ArgAffected)
	case len(g.Full) > 0 && len(g.Affected) == 0:
		v.addf(at+".full", "", "full belongs to a command in affected: for Go it is ./...")
	}
}

package ci

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// State is what a command of CI is to the gates of a project.
type State string

// The states.
const (
	Gate    State = "gate"         // it is one
	Covered State = "covered by"   // gates run what it runs
	NotHere State = "not run here" // for a reason
	Skipped State = "left out"     // a person has decided so
	Open    State = "no gate"      // no gate runs it, and this machine could
)

// Judged is a command, and what it is to the gates.
type Judged struct {
	Command

	State State
	// Note has the gates, or the reason.
	Note string
}

// String is the command in a line.
func (j Judged) String() string {
	state := string(j.State)
	switch {
	case j.State == NotHere:
		state += ": " + j.Note
	case j.Note != "":
		state += " " + j.Note
	}
	return text.OneLine(fmt.Sprintf("%s (%s:%d): %s", text.Clip(j.Name(), text.MaxLine), j.File, j.Line, state))
}

// Reason is why no gate runs it.
func (j *Judged) Reason() string {
	if j.State == NotHere {
		return j.Note
	}
	return string(j.State)
}

// Runs reports whether gates run it.
func (j *Judged) Runs() bool { return j.State == Gate || j.State == Covered }

// Share is how many of some commands gates run.
func Share(list []Judged) string {
	n := 0
	for i := range list {
		if list[i].Runs() {
			n++
		}
	}
	return fmt.Sprintf("%d of %s of CI", n, text.Count(len(list), "command"))
}

// Facts are what is known of the project and the machine.
type Facts struct {
	Gates []spec.Gate
	// Skip are names of commands that a person has left out.
	Skip []string
	// Services are those that gates have.
	Services []spec.Service
	// Has reports whether the machine has a program.
	Has func(program string) bool
}

// Judge compares the commands with the gates of a project.
func (f *Found) Judge(facts Facts) (list []Judged) {
	gates := map[string][]leaf{}
	for _, g := range facts.Gates {
		gates[g.Name] = f.leavesOf(".", text.CommandLine(g.Command))
	}
	for _, c := range f.Commands {
		j := Judged{Command: c}
		by := covering(c.leaves, facts.Gates, gates)
		same := slices.IndexFunc(facts.Gates, func(g spec.Gate) bool { return slices.Equal(g.Command, c.Argv()) })
		lacks := c.lacks(facts)
		switch {
		case same >= 0:
			j.State, j.Note = Gate, facts.Gates[same].Name
		case len(by) > 0:
			j.State, j.Note = Covered, strings.Join(by, ", ")
		case c.Why != "":
			j.State, j.Note = NotHere, c.Why
		case lacks != "":
			j.State, j.Note = NotHere, lacks
		case slices.Contains(facts.Skip, c.Name()):
			j.State = Skipped
		default:
			j.State = Open
		}
		list = append(list, j)
	}
	return list
}

// OnVersions are the command on other versions of its language that CI runs it on and the machine has, as programs of their own.
func (j *Judged) OnVersions(has func(program string) bool) (list []Command) {
	if j.State == NotHere {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(j.Versions)) {
		for _, version := range j.Versions[name] {
			program, text := "go"+version, ""
			if rest, is := strings.CutPrefix(j.Text, "go "); is && strings.HasPrefix(name, "go") {
				text = program + " " + rest
			} else if m := pythonRun.FindStringSubmatch(j.Text); m != nil && strings.HasPrefix(name, "py") {
				program = "python" + version
				text = program + " -m " + m[1]
			}
			if text != "" && has(program) {
				c := j.Command
				c.Text = text
				list = append(list, c)
			}
		}
	}
	return list
}

var pythonRun = lazyregexp.New(`^(?:python3? -m )?(pytest\b.*)$`)

// covering lists the gates that together run some leaves; none where they leave one out.
func covering(leaves []leaf, order []spec.Gate, gates map[string][]leaf) (by []string) {
	for _, l := range leaves {
		i := slices.IndexFunc(order, func(g spec.Gate) bool { return slices.ContainsFunc(gates[g.Name], l.within) })
		if i < 0 {
			return nil
		}
		if !slices.Contains(by, order[i].Name) {
			by = append(by, order[i].Name)
		}
	}
	return by
}

// lacks is what the command needs and gates have not: a service, or a program; "" for none. A program that a gate runs comes with
// the setup.
func (c *Command) lacks(facts Facts) string {
	var services []string
	for _, s := range c.services {
		if !slices.ContainsFunc(facts.Services, func(of spec.Service) bool { return s.meets(&of) }) {
			services = append(services, s.name)
		}
	}
	if len(services) > 0 {
		return "it needs the service " + strings.Join(services, ", ")
	}
	parts, whole := split(c.Text)
	if whole {
		return ""
	}
	for _, part := range parts {
		program := spec.ProgramOf(append([]string{"env"}, part.words...))
		comes := slices.ContainsFunc(facts.Gates, func(g spec.Gate) bool { return spec.ProgramOf(g.Command) == program })
		if !comes && !slices.Contains(builtins, program) && !strings.ContainsAny(program, "/$=") && !facts.Has(program) {
			return "this machine has no " + program
		}
	}
	return ""
}

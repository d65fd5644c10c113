package proof

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Unread lists the files of a task's patch that no gate which left receipts has read as their kind needs, and that a person is
// asked about. It leaves out those that were asked about before, since no gate proves their part of the repository.
func Unread(proofs *run.Proofs, t *run.Task, receipts []spec.Receipt) []spec.Unread {
	return slices.DeleteFunc(run.UnreadIn(receipts, t.Changes()), func(u spec.Unread) bool {
		return !Asks(u) || len(proofs.UnprovableIn([]string{u.Path})) > 0
	})
}

// UnreadGroup are unread files of one directory for one reason.
type UnreadGroup struct {
	Dir    string   `json:"dir"`
	Files  []string `json:"files"`
	Reason string   `json:"reason"`
	// Command would read them; empty where none is known.
	Command string `json:"command,omitempty"`
}

// GroupUnread puts unread files together, sorted by directory.
func GroupUnread(list []spec.Unread) (groups []UnreadGroup) {
	for _, u := range list {
		g := UnreadGroup{Dir: path.Dir(u.Path), Reason: reason(u), Command: text.CommandLine(u.Command)}
		i := slices.IndexFunc(groups, func(had UnreadGroup) bool {
			return had.Dir == g.Dir && had.Reason == g.Reason && had.Command == g.Command
		})
		if i < 0 {
			i, groups = len(groups), append(groups, g)
		}
		groups[i].Files = append(groups[i].Files, path.Base(u.Path))
	}
	for i := range groups {
		slices.Sort(groups[i].Files)
		groups[i].Files = slices.Compact(groups[i].Files)
	}
	slices.SortStableFunc(groups, func(a, b UnreadGroup) int { return cmp.Compare(a.Dir, b.Dir) })
	return groups
}

// reason is why a file is unread.
func reason(u spec.Unread) string {
	switch {
	case u.Reason != "":
		return text.Clip(text.OneLine(u.Reason), text.MaxLine)
	case u.Grade == spec.GradeOpened:
		return "opened, and neither compiled nor run"
	case u.Grade == spec.GradeUnknown:
		return "it is not known whether a gate reads it"
	case u.Source:
		return "no gate compiles or runs it"
	}
	return "no gate opens it"
}

// String is the group in one line.
func (g UnreadGroup) String() string {
	names := slices.Clone(g.Files)
	for i := range names {
		names[i] = path.Join(g.Dir, names[i])
	}
	line := text.Some(names, maxNamed) + ": " + g.Reason
	if g.Command != "" {
		what := "them"
		if len(names) == 1 {
			what = "it"
		}
		line += "; a gate that reads " + what + ": " + g.Command
	}
	return text.OneLine(line)
}

// UnreadLines are unread files in words, a line for each directory and reason.
func UnreadLines(list []spec.Unread) (lines []string) {
	for _, g := range GroupUnread(list) {
		lines = append(lines, "no gate reads "+g.String())
	}
	return lines
}

// WhyUnread is why a patch with unread files is unverified, in one line.
func WhyUnread(list []spec.Unread) string {
	return text.Clip(strings.Join(text.Few(UnreadLines(list), maxNamed), "; "), text.MaxLine)
}

// UnreadLanded lists the unread files that have landed: those that a person is asked about, and those that are only told.
func UnreadLanded(tasks *run.Tasks, batches *run.Batches) (asked, told []spec.Unread) {
	for _, t := range landed(tasks, batches) {
		for _, u := range t.Unread {
			if Asks(u) {
				asked = append(asked, u)
			} else {
				told = append(told, u)
			}
		}
	}
	return asked, told
}

// NewGates are the gates that would read unread files and that the run has not: one for each command.
func NewGates(order *run.Spec, list []spec.Unread) []spec.Gate {
	had := slices.Clone(order.Project.Gates)
	for i := range order.Added {
		had = append(had, order.Added[i].Gate)
	}
	known := len(had)
	for _, u := range list {
		if command := gateCommand(u.Command); len(command) > 0 && !ReadBy(u, had) {
			had = append(had, spec.Gate{Name: GateName(command, had), Command: command})
		}
	}
	return had[known:]
}

// ReadBy reports whether one of some gates is the one that would read a file.
func ReadBy(u spec.Unread, gates []spec.Gate) bool {
	command := gateCommand(u.Command)
	return slices.ContainsFunc(gates, func(g spec.Gate) bool { return slices.Equal(g.Command, command) })
}

// gateCommand is a command as a gate has it: env sets the variables that it begins with.
func gateCommand(command []string) []string {
	if len(command) > 0 && strings.Contains(command[0], "=") {
		return append([]string{"env"}, command...)
	}
	return command
}

// maxGateName bounds the name of a gate.
const maxGateName = 40

// GateName makes a name of a command that none of some gates has.
func GateName(command []string, had []spec.Gate) string {
	if command[0] == "env" {
		command = command[1:]
	}
	name := strings.Join(strings.FieldsFunc(strings.Join(command, " "), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}), "-")
	name = strings.TrimRight(name[:min(len(name), maxGateName)], "-")
	name = cmp.Or(name, "added")
	taken := func(g spec.Gate) bool { return g.Name == name }
	for n, first := 2, name; slices.ContainsFunc(had, taken); n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	return name
}

// Package each makes a change of many files from one line of a terminal: its input is a command, a pattern of ast-grep or a brief
// for a role, its output the plan and the role that divisi run takes from files.
package each

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
)

// Line is a change as a person types it.
type Line struct {
	// Command changes the files, Then is a line of a shell that runs after it; {files} in either are the files.
	Command []string
	Then    string
	// Typed is the command as it was typed, for people.
	Typed []string
	// Pattern is the pattern that ast-grep rewrites to Rewrite, in the language Lang.
	Pattern, Rewrite, Lang string
	// Role does the change as Brief says.
	Role, Brief string
	// Match, Glob and By choose the files and what one task gets, Files names them in place of these: those that From lists.
	Match, Glob, By string
	From            string
	Files           []string
	// Together has all tasks tested, and landed, as one.
	Together bool
}

// Change is the plan and the role of a line.
type Change struct {
	Plan spec.Plan
	// Role is the role of a command; its name is "" where the line names another one.
	Role spec.Role
	// Guessed reports that the expression that files must match comes from the command.
	Guessed bool
}

// name is that of the role and of the template.
const name = "each"

// defaultBy is the part of the repository that one task gets.
const defaultBy = "dir"

// Change is the plan and the role of the line; an error of usage where it is none.
func (l Line) Change() (c Change, err error) {
	if err := l.kind(); err != nil {
		return c, err
	}
	template := spec.Task{
		ID: name, Role: cmp.Or(l.Role, name), Brief: l.Brief,
		Shard: &spec.Shard{By: cmp.Or(l.By, defaultBy), Match: l.Match, Glob: l.Glob}, Together: l.Together,
	}
	goal := l.Brief
	if l.Role == "" {
		command := l.Command
		if l.Pattern != "" {
			command = astGrep(l.Pattern, l.Rewrite, l.Lang)
		}
		goal = shown(command)
		if l.Typed != nil && l.Pattern == "" {
			goal = shown(l.Typed)
		}
		if l.Then != "" {
			goal += " && " + l.Then
		}
		template.Brief = "Run " + goal
		if l.Match == "" && l.Files == nil {
			if template.Shard.Match = l.guess(command); template.Shard.Match != "" {
				c.Guessed, template.Remaining = true, spec.RemainingOK // it says nothing of what has to be gone
			}
		}
		if c.Role, err = roleOf(command, l.Then); err != nil {
			return c, err
		}
		c.Role.Description = spec.MadeBy + l.again()
	}
	template.Title = text.Clip(text.OneLine(goal), maxTitle)
	c.Plan = spec.Plan{Goal: text.OneLine(goal), Tasks: []spec.Task{template}}
	if l.Files != nil {
		c.Plan.Tasks, err = listed(template, l.Files)
	}
	return c, err
}

// astGrep is the command that rewrites by syntax.
func astGrep(pattern, rewrite, lang string) []string {
	return []string{"ast-grep", "run", "--pattern", pattern, "--rewrite", rewrite, "--lang", lang, "--update-all", spec.ArgFiles}
}

// shown is a command as a person types it.
func shown(command []string) string {
	words := make([]string, len(command))
	for i, arg := range command {
		switch {
		case arg == spec.ArgFiles:
			words[i] = arg
		case strings.Contains(arg, "'") && !strings.ContainsAny(arg, "\"$`\\!"):
			words[i] = `"` + arg + `"`
		default:
			words[i] = text.Shell(arg)
		}
	}
	return strings.Join(words, " ")
}

// again is the line for another run of the same change; only its beginning where no one line of a terminal has it.
func (l Line) again() string {
	const each = "divisi each"
	line, command := each, cmp.Or(shown(l.Typed), shown(l.Command))
	for _, flag := range [][2]string{
		{"then", l.Then},
		{"match", l.Match},
		{"glob", l.Glob},
		{"by", l.By},
		{"from", l.From},
		{"ast-grep", l.Pattern},
		{"rewrite", l.Rewrite},
		{"lang", l.Lang},
	} {
		if flag[1] != "" {
			line += " --" + flag[0] + " " + text.Shell(flag[1])
		}
	}
	if l.Together {
		line += " --together"
	}
	if l.Pattern == "" {
		line += " -- " + command
	}
	if strings.Contains(line, "\n") || len(line) > text.MaxLine || l.From == "-" || l.From != "" && !path.IsAbs(l.From) {
		return each
	}
	return line
}

// maxTitle bounds the title of tasks, which is that of their commits too.
const maxTitle = 72

// kind reports, as an error of usage, why the line is not one change.
func (l Line) kind() error {
	kinds := 0
	for _, is := range []bool{len(l.Command) > 0, l.Pattern != "", l.Role != ""} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds == 0 && l.Brief != "":
		return usage.Errorf("a change in words needs a role: divisi each --role generator %s --match 'EXPRESSION'",
			text.Shell(l.Brief))
	case kinds == 0:
		return usage.Errorf("nothing says what changes the files\n" +
			`A command: divisi each -- sed -i 's/old/new/g' {files}` + "\nSee: divisi each --help")
	case kinds > 1:
		return usage.Errorf("a command after --, --ast-grep and --role are three kinds of a change: name one of them")
	case !bySyntax(l.Pattern, l.Rewrite, l.Lang):
		return notBySyntax(l.Pattern)
	case l.Role != "" && l.Brief == "":
		return usage.Errorf(`--role %s needs a brief: divisi each --role %[1]s "What to do" --match 'EXPRESSION'`, l.Role)
	case l.Role == "" && l.Brief != "":
		return usage.Errorf("%s is no command: write it after --, such as: divisi each -- %[1]s {files}", text.Shell(l.Brief))
	case l.Role != "" && l.Then != "":
		return usage.Errorf("--then runs after a command, and a role has its own")
	case l.Files != nil && l.Match+l.Glob+l.By != "":
		return usage.Errorf("--from names the files: leave --match, --glob and --by out")
	case len(l.Command) > 0 && !strings.Contains(strings.Join(l.Command, " "), spec.ArgFiles):
		return usage.Errorf("the command does not say where its files go: divisi each -- %s %s", text.CommandLine(l.Command),
			spec.ArgFiles)
	}
	return nil
}

// bySyntax reports whether the flags of ast-grep are all there, or none.
func bySyntax(pattern, rewrite, lang string) bool {
	return (pattern == "") == (rewrite == "") && (pattern == "") == (lang == "")
}

func notBySyntax(pattern string) error {
	if pattern == "" {
		return usage.Errorf("--rewrite and --lang are for --ast-grep PATTERN")
	}
	return usage.Errorf("--ast-grep needs --rewrite and --lang, such as: --ast-grep %s --rewrite 'os.ReadFile($A)' --lang go",
		text.Shell(pattern))
}

// guess takes from a command an expression of the files that it can change; "" for all.
func (l Line) guess(command []string) string {
	if l.Pattern == "" {
		return wanted(command)
	}
	longest := ""
	for _, w := range word.FindAllString(hole.ReplaceAllString(l.Pattern, " "), -1) {
		if len(w) > len(longest) {
			longest = w
		}
	}
	if longest == "" {
		return ""
	}
	return `\b` + longest + `\b`
}

var (
	word = lazyregexp.New(`\w+`)
	hole = lazyregexp.New(`\$\$?\$?\w+`)
	// quoted is the place of the files in a line of a shell, in quotes or not.
	quoted = lazyregexp.New(`"\{files\}"|'\{files\}'|\{files\}`)
)

// roleOf is the role that runs a command, and then a line of a shell.
func roleOf(command []string, then string) (r spec.Role, err error) {
	within := func(arg string) bool { return arg != spec.ArgFiles && strings.Contains(arg, spec.ArgFiles) }
	r = spec.Role{
		Name: name, Executor: spec.ExecutorCommand, Join: true, Command: command,
	}
	switch {
	case command[0] == spec.ArgFiles:
		return r, usage.Errorf("%s cannot be the program of the command", spec.ArgFiles)
	case slices.ContainsFunc(command, within):
		return r, usage.Errorf("%s must be an argument of its own, and a shell has it as \"$@\": "+
			"divisi each -- sh -c 'sed -i s/a/b/ \"$@\"' sh %[1]s", spec.ArgFiles)
	case then == "":
		return r, nil
	}
	words := make([]string, len(command))
	for i, arg := range command {
		if words[i] = text.Shell(arg); arg == spec.ArgFiles {
			words[i] = `"$@"`
		}
	}
	line, err := ofFiles("--then", then)
	r.Command = []string{"sh", "-c", strings.Join(words, " ") + " && { " + line + "\n}", "sh", spec.ArgFiles}
	return r, err
}

// ofFiles is the line of a flag for a shell whose arguments are the files.
func ofFiles(flag, line string) (string, error) {
	if !whole(line) {
		return "", usage.Errorf("%s %s: %s must be a word of its own", flag, text.Shell(line), spec.ArgFiles)
	}
	return quoted.ReplaceAllLiteralString(line, `"$@"`), nil
}

// whole reports whether the files stand in a line of a shell as words of their own alone.
func whole(then string) bool {
	for _, at := range quoted.FindAllStringIndex(then, -1) {
		before, after := then[:at[0]], then[at[1]:]
		if strings.Count(before, "'")%2 > 0 || strings.Count(before, `"`)%2 > 0 ||
			before != "" && !strings.ContainsAny(before[len(before)-1:], " \t\n(=") ||
			after != "" && !strings.ContainsAny(after[:1], " \t\n;)&|") {
			return false
		}
	}
	return true
}

// maxListed bounds the tasks for files that are listed.
const maxListed = 256

// listed are the tasks for files that are named: those of a directory together, and neighbours where there are many.
func listed(template spec.Task, files []string) ([]spec.Task, error) {
	if len(files) == 0 {
		return nil, usage.Errorf("--from names no file")
	}
	seen, groups := map[string]bool{}, map[string][]string{}
	for _, f := range files {
		f = path.Clean(f)
		if !seen[f] {
			groups[path.Dir(f)] = append(groups[path.Dir(f)], f)
		}
		seen[f] = true
	}
	least, at := (len(seen)+maxListed-1)/maxListed, make([]string, 0, len(groups))
	for dir := range groups {
		at = append(at, dir)
	}
	slices.Sort(at)
	var tasks []spec.Task
	for _, dir := range at {
		if n := len(tasks); n > 0 && len(groups) > maxListed && len(tasks[n-1].Files) < least {
			tasks[n-1].Files = append(tasks[n-1].Files, groups[dir]...)
			continue
		}
		t := template
		t.ID, t.Shard, t.Files = fmt.Sprintf("%s-%03d", template.ID, len(tasks)+1), nil, groups[dir]
		t.Together = false
		tasks = append(tasks, t)
	}
	for i := range tasks {
		if template.Together && len(tasks) > 1 {
			tasks[i].ChangeSet = template.ID
		}
	}
	return tasks, nil
}

// Texts are the plan file and the role file of the change, under a name; the role is "" where the plan names another one.
func (c Change) Texts(as string) (plan, role string, err error) {
	p := c.Plan
	if c.Role.Name != "" && as != "" {
		p.Tasks = slices.Clone(p.Tasks)
		for i := range p.Tasks {
			p.Tasks[i].Role = as
		}
	}
	if plan, err = configs.FormatPlan(p); err != nil || c.Role.Name == "" {
		return plan, "", err
	}
	r := c.Role
	r.Name = cmp.Or(as, r.Name)
	role, err = configs.FormatRole(r)
	return plan, role, err
}

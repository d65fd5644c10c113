package ci

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
)

// leaf is a command that no script or target of the repository stands for, without what does not change its findings.
type leaf struct {
	dir   string
	words []string
}

// expander follows commands into the files that say what they run.
type expander struct {
	read func(file string) ([]byte, error)
	left int // how many commands it still follows
}

// text is a file's content, "" where it cannot be read.
func (x *expander) text(file string) string {
	data, err := x.read(path.Clean(file))
	if err != nil || len(data) > maxFile {
		return ""
	}
	return string(data)
}

const (
	// maxFile bounds a file that commands are followed into, maxLeaves what one command comes down to.
	maxFile   = 1 << 20
	maxLeaves = 200
	// maxExpanded bounds the commands that are followed for one repository.
	maxExpanded = 5000
)

// leavesOf is what a command comes down to, without what prepares it.
func (x *expander) leavesOf(dir, command string) []leaf {
	var found []leaf
	x.expand(&found, dir, command, maxDepth)
	slices.SortStableFunc(found, func(a, b leaf) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(found, func(a, b leaf) bool { return a.String() == b.String() })
}

func (l leaf) String() string { return l.dir + ": " + text.CommandLine(l.words) }

func (x *expander) expand(to *[]leaf, dir, command string, depth int) {
	parts, whole := split(command)
	x.left--
	if whole || depth == 0 || x.left < 0 || len(*to)+len(parts) > maxLeaves {
		*to = append(*to, leaf{dir, []string{text.OneLine(command)}})
		return
	}
	for _, part := range parts {
		list := words(piped.ReplaceAllLiteralString(part.text, ""))
		switch {
		case len(list) == 2 && list[0] == "cd":
			dir = path.Join(dir, list[1])
		case kindOf(list) != setup:
			at := dir
			if to, is := strings.CutPrefix(strings.Join(list[:min(2, len(list))], " "), "env --chdir="); is {
				at, list = path.Join(dir, to), list[2:]
			}
			x.one(to, at, launched(list), depth-1)
		}
	}
}

// one expands one command.
func (x *expander) one(to *[]leaf, dir string, list []string, depth int) {
	env := 0
	for env < len(list)-1 && assignment.MatchString(list[env]) {
		env++
	}
	front, list := list[:env], list[env:]
	dir, list = moved(dir, list)
	before := len(*to)
	for _, line := range x.lines(dir, list) {
		x.expand(to, dir, shelled(front)+line, depth)
	}
	if len(*to) == before {
		*to = append(*to, leaf{path.Clean(dir), append(slices.Clone(front), quiet(list)...)})
	}
}

// lines are the scripts that a command stands for; none for one that stands for itself.
func (x *expander) lines(dir string, list []string) []string {
	switch program := path.Base(list[0]); program {
	case "npm", "pnpm", "yarn", "bun":
		return x.npm(dir, list[1:])
	case "run-s", "run-p", "npm-run-all", "npm-run-all2":
		return x.scripts(dir, list[1:])
	case "make", "gmake":
		return x.make(dir, list[1:])
	case "tox":
		return x.tox(dir, list[1:])
	case "pre-commit", "prek":
		return x.preCommit(list[1:])
	case "sh", "bash":
		if len(list) == 3 && strings.HasSuffix(list[1], "c") {
			return list[2:]
		} else if len(list) == 2 {
			return x.shell(dir, list[1])
		}
	default:
		if strings.HasPrefix(list[0], "./") && strings.HasSuffix(program, ".sh") && len(list) == 1 {
			return x.shell(dir, list[0])
		}
	}
	return nil
}

// shelled are assignments in front of a command.
func shelled(env []string) string {
	line := ""
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		line += name + "=" + text.Shell(value) + " "
	}
	return line
}

// moved follows the flag with which a program changes its directory.
func moved(dir string, list []string) (string, []string) {
	flags := map[string][]string{
		"go": {"-C"}, "make": {"-C"}, "npm": {"--prefix"}, "pnpm": {"--dir", "-C"}, "yarn": {"--cwd"}, "bun": {"--cwd"},
	}[list[0]]
	if len(list) > 2 && slices.Contains(flags, list[1]) {
		return path.Join(dir, list[2]), append(list[:1:1], list[3:]...)
	}
	return dir, list
}

// shell is a script of the repository, where it is for a plain shell.
func (x *expander) shell(dir, file string) []string {
	body := x.text(path.Join(dir, file))
	if _, whole := split(body); body == "" || whole {
		return nil
	}
	return []string{body}
}

// npm is the script that a package manager runs, with what is added to it.
func (x *expander) npm(dir string, list []string) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(w string) bool {
		return slices.Contains([]string{"--", "-s", "--silent", "--if-present", "run", "run-script"}, w)
	})
	if len(list) == 0 {
		return nil
	}
	name, rest := list[0], list[1:]
	if name == "t" || name == "tst" {
		name = "test"
	}
	all := x.packageScripts(dir)
	if strings.TrimSpace(all[name]) == "" {
		return nil
	}
	lines := []string{all["pre"+name], all[name], all["post"+name]}
	if len(rest) > 0 {
		lines[1] += " " + text.CommandLine(rest)
	}
	return slices.DeleteFunc(lines, func(s string) bool { return s == "" })
}

func (x *expander) packageScripts(dir string) map[string]string {
	var m struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(x.text(path.Join(dir, "package.json"))), &m) != nil {
		return nil
	}
	return m.Scripts
}

// scripts are those that a program starts by their names, or by the beginning of these.
func (x *expander) scripts(dir string, names []string) (lines []string) {
	all := x.packageScripts(dir)
	for _, name := range names {
		for _, script := range slices.Sorted(maps.Keys(all)) {
			if matches, err := path.Match(name, script); matches && err == nil {
				lines = append(lines, all[script])
			}
		}
	}
	return lines
}

// tox is what its environments run.
func (x *expander) tox(dir string, args []string) (lines []string) {
	body := x.text(path.Join(dir, "tox.ini"))
	if body == "" {
		_, rest, _ := strings.Cut(x.text(path.Join(dir, "pyproject.toml")), `legacy_tox_ini = """`)
		body, _, _ = strings.Cut(rest, `"""`)
	}
	commands := map[string]string{}
	for _, section := range strings.Split("\n"+body, "\n[testenv")[1:] {
		name, text, _ := strings.Cut(section, "]")
		text, _, _ = strings.Cut(text, "\n[")
		_, found, _ := strings.Cut(text, "\ncommands")
		var list []string
		for n, line := range strings.Split(strings.TrimLeft(found, " ="), "\n") {
			if n > 0 && line != "" && !strings.ContainsRune(" \t#", rune(line[0])) {
				break
			}
			list = append(list, strings.TrimLeft(strings.TrimSpace(line), "-"))
		}
		for one := range strings.SplitSeq(strings.TrimPrefix(name, ":"), ",") {
			commands[strings.TrimSpace(one)] = strings.NewReplacer("{posargs}", "", "{envpython}", "python", "\\\n", " ").
				Replace(strings.Join(list, "\n"))
		}
	}
	names := []string{""}
	if i := slices.Index(args, "-e"); i >= 0 && i+1 < len(args) {
		names = strings.Split(args[i+1], ",")
	}
	for _, name := range names {
		body, is := commands[name]
		if !is {
			body = commands[""]
		}
		lines = append(lines, body)
	}
	return slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" })
}

package calls

import (
	"path"
	"slices"
	"strings"
)

// wrappers run the program that follows their own options; valued are options of them that have a value.
var (
	wrappers = strings.Fields(`env time nice nohup exec command timeout stdbuf setsid ionice xargs npx bunx pnpx uvx
		cross-env dotenv c8 nyc
		retry faketime ccache sccache builtin unbuffer xvfb-run eatmydata chronic mise asdf
		direnv`)
	runs   = strings.Fields(`npm pnpm yarn bun uv poetry pipenv pdm hatch bundle rbenv coverage mise rye`)
	valued = strings.Fields(`-n -u -C -p --package -P -I -L -k -s --signal --kill-after -m --adjustment --with --directory
		--prefix --extra
		--group --python --rcfile --source`)
	interpreters = strings.Fields(`node ruby perl php lua tsx ts-node`)
	shells       = strings.Fields(`sh bash dash zsh ksh ash busybox`)
)

// run follows one command.
func (f *follower) run(s scope, words []string) {
	if f.depth++; f.depth > 4*maxDepth {
		f.depth--
		f.lost()
		return
	}
	defer func() { f.depth-- }()
	if len(words) == 0 {
		return
	}
	name := baseOf(words[0])
	switch {
	case isVar(words[0]):
		f.variable(s, words)
	case slices.Contains(wrappers, name):
		f.wrapped(s, words)
	case slices.Contains(shells, name):
		f.shellCall(s, words[1:])
	case name == "." || name == "source":
		f.script(s, words[1:])
	case name == "make" || name == "gmake":
		f.make(s, words[1:])
	case slices.Contains(runs, name):
		f.runner(s, name, words)
	case strings.HasPrefix(name, "python"):
		f.python(s, words)
	case slices.Contains(interpreters, name):
		f.interpreter(s, name, words)
	case name == "go":
		s = inDir(f, s, words)
		if at := slices.Index(words, "tool"); at > 0 {
			f.run(s, words[at+1:])
			return
		}
		f.add(s, programOf(words), words)
	case strings.Contains(words[0], "/") && programOf(words).Role == Unknown:
		f.own(s, words)
	default:
		f.add(s, programOf(words), words)
	}
}

// inDir is a scope where the option -C of a program has it work.
func inDir(f *follower, s scope, words []string) scope {
	for i, word := range words {
		to, ok := strings.CutPrefix(word, "-C")
		if to == "" && ok && i+1 < len(words) {
			to = words[i+1]
		}
		if at, inside := f.below(s.dir, strings.TrimPrefix(to, "=")); ok && inside {
			s.dir = at
			return s
		} else if ok {
			f.astray(&s)
			return s
		}
	}
	return s
}

// astray notes that commands work in a directory that is not known.
func (f *follower) astray(s *scope) {
	f.lost()
	s.sure = false
}

// below is a directory relative to another one; false for what is not below the tree, or not known.
func (f *follower) below(dir, to string) (string, bool) {
	at := path.Join(dir, to)
	info, err := f.root.Lstat(at)
	return at, !path.IsAbs(to) && to != "" && err == nil && info.IsDir()
}

// variable follows a program that a variable of a Makefile names. Of another variable only its name tells.
func (f *follower) variable(s scope, words []string) {
	name := strings.Trim(words[0], "${}()")
	if value, ok := s.vars[name]; ok && !isVar(value) && value != "" {
		f.run(s, append(strings.Fields(value), words[1:]...))
		return
	}
	f.lost()
	f.add(s, Program{}, words)
}

// wrapped follows the program that a wrapper runs.
func (f *follower) wrapped(s scope, words []string) {
	name := words[0]
	s.sure = s.sure && name != "xargs"
	for words = words[1:]; len(words) > 0; words = words[1:] {
		switch word := words[0]; {
		case assignment.MatchString(word):
			s.env = append(slices.Clone(s.env), word)
		case name == "env" && (word == "-C" || word == "--chdir") && len(words) > 1:
			words = words[1:]
			s = inDir(f, s, []string{"-C", words[0]})
		case strings.HasPrefix(word, "--chdir="):
			s = inDir(f, s, []string{"-C", strings.TrimPrefix(word, "--chdir=")})
		case strings.HasPrefix(word, "-"):
			if slices.Contains(valued, word) && len(words) > 1 && strings.IndexByte(words[1], '/') < 0 {
				words = words[1:]
			}
		case name == "timeout" && strings.IndexByte("0123456789", word[0]) >= 0, word == "run", name == "mise" && word == "exec":
		default:
			if name == "npx" || name == "bunx" || name == "pnpx" || name == "uvx" {
				s.prefix = append(slices.Clone(s.prefix), name)
			}
			f.run(s, words)
			return
		}
	}
}

// shellCall follows what a shell is given: a text, or a file.
func (f *follower) shellCall(s scope, args []string) {
	for i, arg := range args {
		s.errexit = s.errexit || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "e")
		switch {
		case strings.HasPrefix(arg, "-") && strings.Contains(arg, "c") && !strings.HasPrefix(arg, "--") && i+1 < len(args):
			if slices.Contains(args[i+2:], affected) {
				f.lost()
			}
			f.shell(s, args[i+1])
			return
		case strings.HasPrefix(arg, "-"):
		default:
			f.script(s, args[i:])
			return
		}
	}
	f.lost()
}

// script follows a shell script of the tree.
func (f *follower) script(s scope, words []string) {
	name := ""
	if len(words) > 0 {
		name = f.file(s, strings.TrimPrefix(path.Join("./", words[0]), "./"))
		if name == "" {
			name = f.file(s, "./"+words[0])
		}
	}
	text, ok := f.read(name)
	if name == "" || !ok {
		f.lost()
		return
	}
	f.ran(name)
	if f.once("script " + name) {
		s.own = nil
		f.shell(s, text)
	}
}

func (f *follower) ran(name string) {
	if !slices.Contains(f.out.Scripts, name) {
		f.out.Scripts = append(f.out.Scripts, name)
	}
}

// own follows a program of the tree: a script by its first line; what is none was built there.
func (f *follower) own(s scope, words []string) {
	if path.IsAbs(words[0]) {
		f.add(s, Program{}, words)
		return
	}
	name := f.file(s, words[0])
	if name == "" {
		f.add(s, Program{Role: Own}, words)
		return
	}
	text, ok := f.read(name)
	first, _, _ := strings.Cut(text, "\n")
	switch by, script := strings.CutPrefix(first, "#!"); {
	case !ok || !script && strings.ContainsRune(first, 0):
		f.add(s, Program{Role: Own}, words)
	case !script:
		f.lost()
	default:
		interpreter := strings.Fields(by)
		if len(interpreter) == 0 {
			f.lost()
			return
		}
		f.run(s, append(interpreter, words...))
	}
}

// runner follows what package managers run: a script of package.json, or a program.
func (f *follower) runner(s scope, name string, words []string) {
	s = inDir(f, s, words)
	rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool {
		return strings.HasPrefix(w, "-") && w != "--" && w != "-m" || s.dir != "." && w == s.dir
	})
	switch {
	case len(rest) == 0:
		f.lost()
	case verbs[name][rest[0]].Role != Unknown:
		f.add(s, verbs[name][rest[0]], words)
	case name == "coverage":
		if rest[0] == "run" {
			f.python(s, append([]string{"python"}, rest[1:]...))
			return
		}
		f.add(s, Program{Role: Neutral}, words)
	case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name):
		f.packageScript(s, name, rest)
	case rest[0] == "run" || rest[0] == "exec":
		s.prefix = []string{name, rest[0]}
		f.run(s, rest[1:])
	case rest[0] == "sync" || rest[0] == "install" || rest[0] == "lock":
		f.add(s, Program{Role: Neutral}, words)
	default:
		f.lost()
	}
}

// python follows what an interpreter of Python is given.
func (f *follower) python(s scope, words []string) {
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-m" && i+1 < len(words):
			if words[i+1] == "coverage" {
				f.run(s, words[i+1:])
				return
			}
			p := programOf(words[i+1:])
			if words[i+1] == "compileall" || words[i+1] == "py_compile" {
				p = Program{Role: Checks}
			}
			f.add(s, p, words[i+1:])
			return
		case word == "-W" || word == "-X":
			i++
		case strings.HasPrefix(word, "-"):
			if word == "-c" {
				f.add(s, Program{}, words)
				return
			}
		default:
			f.interpreted(s, words, i)
			return
		}
	}
	f.lost()
}

// interpreter follows what other interpreters are given.
func (f *follower) interpreter(s scope, name string, words []string) {
	if name == "node" && slices.Contains(words, "--test") {
		f.add(s, Program{Runs, []string{TypeScript, JavaScript}}, words)
		return
	}
	for i, word := range words {
		if i > 0 && !strings.HasPrefix(word, "-") {
			f.interpreted(s, words, i)
			return
		}
	}
	f.add(s, Program{}, words)
}

// interpreted is a script that an interpreter is given: a known program, or a file of the tree, which may open anything.
func (f *follower) interpreted(s scope, words []string, at int) {
	if p := programOf(words[at:]); p.Role != Unknown && (strings.Contains(words[at], "/") || f.file(s, words[at]) == "") {
		f.add(s, p, words[at:])
		return
	}
	if name := f.file(s, "./"+words[at]); name != "" {
		f.ran(name)
	}
	f.add(s, Program{}, words)
}

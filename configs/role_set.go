package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// RoleSet holds the roles that a plan can name, and the files that were skipped.
type RoleSet struct {
	Roles   map[string]spec.Role
	Skipped []Skipped
	// Repository are the roles that the repository's own files define, also where a file that a person names replaces one:
	// whether the repository is trusted does not depend on the person's files.
	Repository map[string]spec.Role
	// Broken are the role files of the repository that cannot be used. That is an error only for a run that needs the role, and
	// for every run where the role has no name.
	Broken []Broken
	// Replaced are the files that a person names whose role a later one of them replaces, each as a *FileError: that is an error
	// only where the files are checked.
	Replaced []error
	// own are the documents of the role files, by the name of the role; builtIn are the roles that Divisi brings.
	own     map[string]*document
	builtIn map[string]spec.Role
}

// Misfit returns why no task could fit the role in a project, as a *FileError of its file; nil where nothing is wrong.
func (s RoleSet) Misfit(name string, project *spec.Project) error {
	role := s.Roles[name]
	d := newDocument(role.Source, "")
	if own := s.own[name]; own != nil {
		known := *own
		d, known.faults = &known, nil
	}
	d.problems(project.RoleProblems(&role))
	return d.err()
}

// Fit takes the repository's roles that no task could fit in a project out of the set, as broken ones; the error joins why no
// task could fit other roles.
func (s *RoleSet) Fit(project *spec.Project) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
		if err := s.Misfit(name, project); err != nil {
			errs = append(errs, s.breaks(s.Roles[name], err))
		}
	}
	return errors.Join(errs...)
}

// breaks takes a role of the repository out of the set, whose file is wrong: a built-in one of its name is there again. The
// error is returned for a role of another file.
func (s *RoleSet) breaks(role spec.Role, err error) error {
	if role.Named != "" || path.Dir(role.Source) != RolesDir {
		return err
	}
	s.Broken = append(s.Broken, Broken{Role: role.Name, File: role.Source, Err: err})
	delete(s.Roles, role.Name)
	if was, is := s.builtIn[role.Name]; is {
		s.Roles[role.Name] = was
	}
	return nil
}

// Faults are the errors of the broken role files.
func (s *RoleSet) Faults() []error {
	errs := make([]error, len(s.Broken))
	for i := range s.Broken {
		errs[i] = s.Broken[i].Err
	}
	return errs
}

// Breaks reports whether a role file of the repository that cannot be used has a role's name, or one that could not be read.
func (s *RoleSet) Breaks(role string) bool {
	return slices.ContainsFunc(s.Broken, func(b Broken) bool { return b.Role == role || b.Role == "" })
}

// Skipped is a file that makes no role here. That is an error only for a plan that names the role.
type Skipped struct {
	// Role is the name that the role would have.
	Role string `json:"role,omitempty"`
	File string `json:"file"`
	// Why is a part of a sentence, safe for a terminal.
	Why string `json:"why"`
}

// Broken is a role file of the repository with errors.
type Broken struct {
	// Role is the name that the role would have, "" where it could not be read: it can be any. Err is a *FileError.
	Role, File string
	Err        error
}

// First is the first error of the file, on one line.
func (b *Broken) First() string {
	var file *FileError
	if !errors.As(b.Err, &file) {
		return b.Err.Error()
	}
	return file.First()
}

// The most that is imported from one directory, and in all: roles travel in a run's first event.
const (
	maxImports     = 300
	maxImportBytes = 400 << 10
)

// Roles returns every role by name: the built-in ones, then agents of other programs that the repository holds (.gemini/agents,
// .claude/agents), then .divisi/roles, then the named files; later wins, but an imported agent never replaces a built-in role.
// repo may be empty. The error joins one *FileError for each file that is wrong; an agent of another program that cannot be
// taken is skipped instead, unless its file is named.
func Roles(repo string, names []string) (RoleSet, error) {
	files, errs := readAll(names)
	set, errs := rolesOf(repo, files, errs)
	return set, errors.Join(append(errs, set.Faults()...)...)
}

// RolesWith returns what Roles returns, with role files that have been read. The errors of broken files are in the set alone.
func RolesWith(repo string, files []File) (RoleSet, error) {
	set, errs := rolesOf(repo, files, nil)
	return set, errors.Join(errs...)
}

func rolesOf(repo string, files []File, errs []error) (RoleSet, []error) {
	roles, err := BuiltInRoles()
	if err != nil {
		return RoleSet{}, append(errs, err)
	}
	l := roleLoader{
		set: RoleSet{Roles: roles, builtIn: maps.Clone(roles)}, generator: roles[spec.RoleGenerator].Tools,
		errs: errs,
	}
	if err := l.repository(repo); err != nil {
		return RoleSet{}, append(errs, err)
	}
	l.set.Repository = maps.Clone(l.set.Roles)
	maps.DeleteFunc(l.set.Repository, func(_ string, role spec.Role) bool { return role.Source == BuiltIn })
	for _, file := range files {
		l.named(file)
	}
	l.delegates()
	return l.set, l.errs
}

// roleLoader gathers roles, the last one of a name winning.
type roleLoader struct {
	set  RoleSet
	errs []error
	// generator are the tools of an imported agent that lists none, project is where its servers and models are defined.
	generator []string
	project   spec.Project
	// imported counts the bytes of imported instructions.
	imported int
}

func (l *roleLoader) repository(repo string) (err error) {
	l.set.own = map[string]*document{}
	if l.project, err = DefaultProject(); err != nil || repo == "" {
		return err
	}
	if p, err := Project(repo); err == nil { // the commands that need the project report its errors
		l.project = p
	}
	root, err := os.OpenRoot(repo)
	if err != nil {
		return fmt.Errorf("open the repository %s: %w", repo, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, by := range dialects() {
		l.agents(root, by)
	}
	names, err := markdown(root, RolesDir)
	if err != nil {
		l.errs = append(l.errs, cannotRead(RolesDir, err))
	}
	sources := map[string]string{}
	for _, name := range names {
		if role, err := l.file(root, name, sources); err != nil {
			l.set.Broken = append(l.set.Broken, Broken{Role: role, File: name, Err: err})
		}
	}
	return nil
}

// markdown lists the Markdown files of a directory; a directory that is not there has none.
func markdown(root *os.Root, dir string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if path.Ext(entry.Name()) == ".md" && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, path.Join(dir, entry.Name()))
		}
	}
	return names, nil
}

// file takes a role file of the repository, and returns the name of its role, "" where it could not be read. Two of them cannot
// have one name, which sources knows.
func (l *roleLoader) file(root *os.Root, name string, sources map[string]string) (string, error) {
	text, err := readInside(root, name, maxRole)
	if err != nil {
		return "", cannotRead(name, err)
	}
	role, d, err := parseRole(name, text)
	switch {
	case err != nil:
		return role.Name, err
	case sources[role.Name] != "":
		return role.Name, &FileError{File: name, Faults: []Fault{{
			Message: fmt.Sprintf("role %q is in %s already", role.Name, sources[role.Name]),
		}}}
	case len(role.Secrets) > 0:
		l.skip(role.Name, name, "only a role file that you name yourself can use secrets")
		return role.Name, nil
	}
	sources[role.Name] = name
	l.set.Roles[role.Name], l.set.own[role.Name] = role, d
	return role.Name, nil
}

// named takes a file that a person names, which may also be an agent of another program.
func (l *roleLoader) named(file File) {
	role, d, err := l.read(file)
	if err == nil {
		role.Named, err = filepath.Abs(file.Name)
	}
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	if was := l.set.Roles[role.Name]; was.Named != "" && was.Named != role.Named {
		l.set.Replaced = append(l.set.Replaced, &FileError{File: was.Source, Faults: []Fault{{
			Message: fmt.Sprintf("role %q is in %s too", role.Name, file.Name),
		}}})
	}
	l.set.Roles[role.Name], l.set.own[role.Name] = role, d
	l.set.Skipped = slices.DeleteFunc(l.set.Skipped, func(s Skipped) bool { return s.Role == role.Name })
	l.set.Broken = slices.DeleteFunc(l.set.Broken, func(b Broken) bool { return b.Role == role.Name })
}

func (l *roleLoader) read(file File) (spec.Role, *document, error) {
	text, err := readBounded(strings.NewReader(file.Text), maxRole)
	if err != nil {
		return spec.Role{}, nil, cannotRead(file.Name, err)
	}
	by := dialectOf(file.Name)
	if by == nil {
		return parseRole(file.Name, text)
	}
	role, err := importAgent(by, file.Name, text, l.generator, &l.project)
	if err != nil {
		return spec.Role{}, nil, &FileError{File: file.Name, Faults: []Fault{{Message: err.Error()}}}
	}
	return role, nil, nil
}

// dialectOf recognises agents of other programs by the directory that they are in; nil for role files.
func dialectOf(file string) *dialect {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	for _, by := range dialects() {
		if strings.HasSuffix(filepath.ToSlash(filepath.Dir(abs)), "/"+by.dir) {
			return by
		}
	}
	return nil
}

func (l *roleLoader) skip(role, file, why string) {
	l.set.Skipped = append(l.set.Skipped, Skipped{Role: role, File: printable(file, maxMessage), Why: printable(why, maxMessage)})
}

// agents imports the agents of another program.
func (l *roleLoader) agents(root *os.Root, by *dialect) {
	names, err := markdown(root, by.dir)
	if err != nil {
		l.skip("", by.dir, "the directory cannot be read: "+err.Error())
	}
	seen := map[string]bool{}
	for i, name := range names {
		base := strings.TrimSuffix(path.Base(name), ".md")
		switch {
		case i >= maxImports:
			l.skip(slug(base), name, fmt.Sprintf("more than %d agents: name the role file yourself", maxImports))
		case !strings.HasPrefix(base, "_") || by != &geminiCLI: // which passes over such files too
			l.agent(root, by, name, seen)
		}
	}
}

func (l *roleLoader) agent(root *os.Root, by *dialect, name string, seen map[string]bool) {
	text, err := readInside(root, name, maxRole)
	if err != nil {
		l.skip(slug(strings.TrimSuffix(path.Base(name), ".md")), name, "the file cannot be read: "+reason(err))
		return
	}
	role, err := importAgent(by, name, text, l.generator, &l.project)
	if err != nil {
		l.skip(role.Name, name, err.Error())
		return
	}
	problems := l.project.RoleProblems(&role)
	had := l.set.Roles[role.Name].Source
	switch {
	case len(problems) > 0:
		l.skip(role.Name, name, problems[0].Message)
	case seen[role.Name]:
		l.skip(role.Name, name, fmt.Sprintf("role %s is in %s already", role.Name, had))
	case l.imported+len(role.Instruction) > maxImportBytes:
		l.skip(role.Name, name, fmt.Sprintf("the agents before it have %d KiB already: name this role file yourself",
			l.imported>>10))
	default:
		if had != "" {
			role.Notices = append(role.Notices, "it takes the place of "+printable(had, maxSource))
		}
		l.imported += len(role.Instruction)
		l.set.Roles[role.Name], seen[role.Name] = role, true
	}
}

// delegates looks for the roles that roles name, when all of them are known.
func (l *roleLoader) delegates() {
	for _, name := range slices.Sorted(maps.Keys(l.set.Roles)) {
		role := l.set.Roles[name]
		if d := l.set.own[name]; d != nil {
			d.problems(role.Validate(spec.Env{Roles: l.set.Roles}))
			if err := d.err(); err != nil {
				l.errs = append(l.errs, l.set.breaks(role, err))
			}
			continue
		}
		known := slices.DeleteFunc(slices.Clone(role.Delegates), func(other string) bool {
			_, ok := l.set.Roles[other]
			return !ok || other == spec.RoleMaster || other == spec.RoleTester
		})
		if len(known) == len(role.Delegates) {
			continue
		}
		role.Notices = append(role.Notices, "tools: agents that are no roles here cannot be called")
		if role.Delegates = known; len(known) == 0 { // none at all would mean every role
			role.Tools = slices.DeleteFunc(role.Tools, func(t string) bool { return t == spec.ToolDelegate })
		}
		l.set.Roles[name] = role
	}
}

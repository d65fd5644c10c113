package acceptance

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/text"
)

// locked is a kind of manifest whose dependencies lock files repeat.
type locked struct {
	manifest string
	locks    []string
	// dependencies returns those that a manifest names, with their versions.
	dependencies func(*Patch, []byte) (map[string]string, error)
	// gains is set where the lock file need not change for a dependency that goes.
	gains bool
}

var lockedManifests = []locked{
	{
		"package.json", strings.Fields("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb"),
		every(jsonFields, `^(?:(?:dev|peer|optional)?[dD]ependencies|overrides|resolutions|pnpm)\.`), false,
	},
	{"go.mod", []string{"go.sum"}, requirements, true},
	{"Cargo.toml", []string{"Cargo.lock"}, every(tomlValues, `(?:^|[.-])dependencies(?:\.|$)|^patch\.`), false},
	{
		"pyproject.toml", strings.Fields("poetry.lock uv.lock pdm.lock"),
		every(tomlValues, `^project\.(?:optional-)?dependencies\b|^dependency-groups\b|`+
			`^tool\.(?:poetry|uv|pdm)\b.*dependencies\b`), false,
	},
	{"Pipfile", []string{"Pipfile.lock"}, every(tomlValues, `^(?:dev-)?packages\b`), false},
	{"composer.json", []string{"composer.lock"}, every(jsonFields, `^require(?:-dev)?\.`), false},
	{"Gemfile", []string{"Gemfile.lock"}, gems, false},
}

// every returns the values of a format whose names match.
func every(read func([]byte) (map[string]string, error), names string) func(*Patch, []byte) (map[string]string, error) {
	match := regexp.MustCompile(names)
	return func(_ *Patch, content []byte) (map[string]string, error) {
		values, err := read(content)
		maps.DeleteFunc(values, func(name, _ string) bool { return !match.MatchString(name) })
		return values, err
	}
}

// jsonFields are the fields of the objects in an object.
func jsonFields(content []byte) (map[string]string, error) {
	values, err := jsonValues(content)
	out := map[string]string{}
	for name, value := range values {
		fields, err := jsonValues([]byte(value))
		if err != nil {
			continue // it is no object
		}
		for field, value := range fields {
			out[name+"."+field] = value
		}
	}
	return out, err
}

var (
	requirement = re(`(?m)^(?:require)?[ \t]+([^\s()/]+\.[^\s()]+)[ \t]+(v\S+)`)
	gem         = re(`(?m)^\s*gem\s+["']([^"']+)["'](.*)$`)
)

// requirements are the modules that a go.mod requires.
func requirements(_ *Patch, content []byte) (map[string]string, error) {
	return pairs(requirement.FindAllSubmatch(content, -1)), nil
}

// gems are those that a Gemfile names.
func gems(_ *Patch, content []byte) (map[string]string, error) {
	return pairs(gem.FindAllSubmatch(content, -1)), nil
}

func pairs(found [][][]byte) map[string]string {
	out := map[string]string{}
	for _, m := range found {
		out[string(m[1])] = string(m[2])
	}
	return out
}

// lockedBy returns the kind of a manifest; nil for another file.
func lockedBy(file string) *locked {
	for i := range lockedManifests {
		if path.Base(file) == lockedManifests[i].manifest {
			return &lockedManifests[i]
		}
	}
	return nil
}

// LocksOf returns where the lock files of changed manifests can be: beside them, or in a directory above.
func LocksOf(changes []Change) (paths []string) {
	for _, c := range changes {
		if kind := lockedBy(c.Path); kind != nil {
			for dir := path.Dir(c.Path); ; dir = path.Dir(dir) {
				for _, lock := range kind.locks {
					paths = append(paths, path.Join(dir, lock))
				}
				if dir == "." {
					break
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// locks asks about manifests whose dependencies change without their lock file: what is installed is what that file says, or an
// installation fails.
func locks(p *Patch) (found []Finding) {
	for _, f := range p.files {
		kind := lockedBy(f.Path)
		if kind == nil || f.data || f.Before == nil || f.After == nil || len(f.Before)+len(f.After) > maxManifest {
			continue
		}
		lock := p.lockOf(f.Path, kind)
		if lock == "" || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Path == lock }) {
			continue
		}
		before, err := kind.dependencies(p, f.Before)
		if err != nil {
			continue // its gates read it too
		}
		after, err := kind.dependencies(p, f.After)
		if err != nil {
			continue
		}
		if name, what := differing(before, after, kind.gains); name != "" {
			found = append(found, at(f.Path, f.first, "%s, and %s does not change", fmt.Sprintf(what, text.Quote(name)), lock))
		}
	}
	return found
}

// differing returns the first dependency that differs, and what has become of it.
func differing(before, after map[string]string, gains bool) (name, what string) {
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		now, has := after[name]
		switch {
		case !had:
			return name, "the dependency %s is new"
		case !has && !gains:
			return name, "the dependency %s is gone"
		case has && was != now:
			return name, "the dependency %s changes"
		}
	}
	return "", ""
}

// lockOf returns the nearest lock file of a manifest on the base commit; "" for none.
func (p *Patch) lockOf(manifest string, kind *locked) string {
	for dir := path.Dir(manifest); ; dir = path.Dir(dir) {
		for _, lock := range kind.locks {
			if file := path.Join(dir, lock); slices.Contains(p.Locks, file) {
				return file
			}
		}
		if dir == "." {
			return ""
		}
	}
}

package acceptance

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
)

// locked is a kind of manifest whose dependencies lock files repeat.
type locked struct {
	manifest string
	locks    []string
	// dependencies returns those that a manifest names, with their versions.
	dependencies reader
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
func every(read func([]byte) (map[string]string, error), names string) reader {
	match := re(names)
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
			paths = append(paths, kind.locksOf(c.Path)...)
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
		paths := kind.locksOf(f.Path)
		i := slices.IndexFunc(paths, func(lock string) bool { return slices.Contains(p.Locks, lock) }) // the nearest one
		if i < 0 || slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Path == paths[i] }) {
			continue
		}
		before, after, names, _ := both(p, f, kind.dependencies) // its gates read what cannot be read
		for _, name := range names {
			was, had := before[name]
			now, has := after[name]
			var what string
			switch {
			case !had:
				what = "is new"
			case !has && !kind.gains:
				what = "is gone"
			case has && was != now:
				what = "changes"
			default:
				continue
			}
			found = append(found, at(f.Path, f.first, "the dependency %s %s, and %s does not change", text.Quote(name), what,
				paths[i]))
			break
		}
	}
	return found
}

// locksOf returns where the lock files of a manifest can be, the nearest first.
func (l *locked) locksOf(manifest string) (paths []string) {
	for dir := path.Dir(manifest); ; dir = path.Dir(dir) {
		for _, lock := range l.locks {
			paths = append(paths, path.Join(dir, lock))
		}
		if dir == "." {
			return paths
		}
	}
}

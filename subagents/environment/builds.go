package environment

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	// onlyBuilds matches commands of Maven and Gradle that leave what they make of the sources in outputs alone.
	onlyBuilds = lazyregexp.New(`^(?:[\s;(){}]|&&|\|\||cd [\w./-]+|echo '[^']*'|` +
		`(?:[\w.-]*/)*(?:mvnw?|gradlew?)(?: (?:-[fp] [\w./-]+|-[\w.=:,/-]+|dependency:[\w:-]+|dependencies|assemble|build|` +
		`check|classes|compile|package|test|test-compile|testClasses|verify))+)+$`)
	outputs = strings.Fields("target build .gradle .kotlin")
	// prose becomes a description of a package, at most.
	prose = lazyregexp.New(`(?i)(?:\.(?:md|rst|adoc)|(?:^|/)(?:readme|licen[cs]e|copying|notice|authors|change(?:s|log))[^/]*)$`)
	// builders has what Maven and Gradle read beside their scripts.
	builders = installer{
		files: strings.Fields("pom.xml maven-wrapper.properties gradle.properties gradle.lockfile libs.versions.toml"),
		below: strings.Fields(".mvn gradle buildSrc build-logic"),
	}
)

// Builds reports whether a setup does nothing but build with Maven or Gradle, to have all that they download, and has left
// nothing else at some paths: the sources do not decide what that is.
func Builds(setup *spec.Setup, left []string) bool {
	line := strings.Join(setup.Command, " ")
	if isLine(setup.Command) {
		line = setup.Command[2]
	}
	return strings.Contains(line, " ") && onlyBuilds.MatchString(line) &&
		!slices.ContainsFunc(left, func(name string) bool { return !slices.Contains(outputs, path.Base(name)) })
}

// compiled reports whether a file is a source of a build, and not what decides what that downloads.
func compiled(name string) bool {
	return strings.Contains("/"+path.Dir(name)+"/", "/src/") && !describes(name)
}

// describes reports whether a file tells a package manager what to install.
func describes(name string) bool {
	return strings.HasSuffix(name, ".gradle") || strings.HasSuffix(name, ".gradle.kts") || builders.reads(name) ||
		slices.ContainsFunc(installers, func(i installer) bool { return i.reads(name) })
}

// ReadBy is what a setup read of a tree: the files that it opened. Where it builds, sources count as little as files that it did
// not open, but all files that describe what it downloads count.
func ReadBy(tree *Tree, opened []string, built bool) *Read {
	r := &Read{Files: map[string]string{}, Built: built, Outline: tree.Outline}
	for _, name := range opened {
		if !built || !compiled(name) {
			r.Files[name] = tree.Blobs[name]
		}
	}
	if built {
		r.Outline = ""
		for name, id := range tree.Blobs {
			if describes(name) {
				r.Files[name] = id
			}
		}
	}
	return r
}

// Decides reports whether a file may decide what a setup installs, and whether that is certain: its key names it, or a package
// manager is known by it. Others are those that it read, where it is no installation that is known and nothing else tells what
// becomes of them: they are no prose and no sources of a build, and no derived files lie in their directory or above.
func (e *Environment) Decides(setup *spec.Setup, name string) (may, certain bool) {
	if len(setup.Key) > 0 {
		named := slices.Contains(setup.Key, name)
		return named, named
	}
	described := describes(name)
	named := strings.HasSuffix(name, ".txt") && strings.Contains(strings.Join(setup.Command, " "), name)
	if e.Read == nil {
		return described || named, described || named
	}
	_, read := e.Read.Files[name]
	described = described || named && read // a command can name what it does not read
	_, whole := e.Recipe.Files[WholeTree]
	if described || !read || !whole || prose.MatchString(name) {
		return described, read
	}
	return (!Builds(setup, nil) || !compiled(name)) && !slices.ContainsFunc(e.Derived(nil), func(place string) bool {
		dir := path.Dir(place)
		return dir == "." || strings.HasPrefix(name, dir+"/")
	}), false
}

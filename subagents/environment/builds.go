package environment

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
)

var (
	// goals of Maven and Gradle leave what they make of the sources in outputs alone, and nowhere that another build looks.
	goals = strings.Fields(`assemble build check classes compile dependencies package test test-compile testClasses
		verify`)
	outputs = strings.Fields("target build .gradle .kotlin")
)

// Builds reports whether a setup does nothing but build with Maven or Gradle, to have all that they download: the sources do not
// decide what that is.
func Builds(setup *spec.Setup) bool {
	parts := []string{strings.Join(setup.Command, " ")}
	if isLine(setup.Command) {
		parts = strings.FieldsFunc(setup.Command[2], func(r rune) bool { return strings.ContainsRune("&|(){};\n", r) })
	}
	built := false
	for _, part := range parts {
		words := strings.Fields(part)
		switch {
		case strings.ContainsAny(part, "<>$`"):
			return false
		case len(words) == 0 || words[0] == "cd" || words[0] == "echo":
		case !builds(words):
			return false
		default:
			built = true
		}
	}
	return built
}

// builds is Builds for the words of one command.
func builds(words []string) bool {
	if !slices.Contains([]string{"mvn", "mvnw", "gradle", "gradlew"}, path.Base(words[0])) {
		return false
	}
	for i, word := range words[1:] {
		value := slices.Contains([]string{"-f", "--file", "-p", "--project-dir"}, words[i])
		if !value && !strings.HasPrefix(word, "-") && !slices.Contains(goals, word) && !strings.HasPrefix(word, maven.only) {
			return false
		}
	}
	return true
}

// OnlyOutputs reports whether a build has left nothing at some paths but what it makes again.
func OnlyOutputs(paths []string) bool {
	return !slices.ContainsFunc(paths, func(name string) bool { return !slices.Contains(outputs, path.Base(name)) })
}

// Source reports whether a file is a source of a build of Maven or Gradle, and not what decides what that downloads.
func Source(name string) bool {
	return strings.Contains("/"+path.Dir(name)+"/", "/src/") && !describes(name)
}

// describes reports whether a file tells a package manager what to install.
func describes(name string) bool {
	return maven.reads(name) || gradle.reads(name) || slices.ContainsFunc(installers, func(i installer) bool {
		return slices.Contains(i.files, path.Base(name))
	})
}

// ReadBy is what a setup read of a tree: the files that it opened. For one that builds, and of which nothing is kept, sources
// count as little as files that it did not open, but all that describe what it downloads do.
func ReadBy(tree *Tree, opened []string, built bool) *Read {
	r := &Read{Files: map[string]string{}, Built: built}
	for _, name := range opened {
		if !built || !Source(name) {
			r.Files[name] = tree.Blobs[name]
		}
	}
	if !built {
		r.Outline = tree.Outline
		return r
	}
	for name, id := range tree.Blobs {
		if describes(name) {
			r.Files[name] = id
		}
	}
	return r
}

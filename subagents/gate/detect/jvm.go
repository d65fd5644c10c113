package detect

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// maven: the reactor at the top, and poms with tests that no other one names, those of profiles included.
func (d *detector) maven() {
	named, tested, dirs := map[string]bool{}, d.above(jvmTest.MatchString), []string(nil)
	for _, file := range d.under("pom.xml") {
		dir := path.Dir(file)
		if !named[dir] && (dir == "." || tested[dir]) {
			dirs = append(dirs, dir)
		}
		d.reactor(dir, named)
	}
	for _, dir := range d.most("Maven projects", dirs) {
		if dir == "." || d.ready("Maven projects", dir, "mvn", false) {
			d.mvn(dir)
		}
	}
}

// reactor adds the modules that a pom names, and those that these name.
func (d *detector) reactor(dir string, named map[string]bool) {
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		for _, module := range modulesOf(d.text(path.Join(queue[0], "pom.xml"))) {
			at := path.Join(queue[0], module)
			if d.known[at] {
				at = path.Dir(at)
			}
			if filepath.IsLocal(at) && !named[at] {
				named[at] = true
				queue = append(queue, at)
			}
		}
	}
}

// modulesOf reads the modules of a pom.
func modulesOf(pom string) (modules []string) {
	decoder := xml.NewDecoder(strings.NewReader(pom))
	for {
		token, err := decoder.Token()
		if err != nil {
			return modules
		}
		var module string
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "module" {
			switch err := decoder.DecodeElement(&module, &start); {
			case err == nil:
				modules = append(modules, strings.TrimSpace(module))
			case errors.Is(err, io.EOF):
				return modules
			}
		}
	}
}

// mvn adds the gate and the setup of a Maven project: surefire would leave out of a stack what is not the test's, which leads to
// the cause. What it needs is found by running the tests, for a minute, with the network; dependency:go-offline leaves out some.
// What does not compile or fails is for the gate to tell: a base that is broken in part has an environment too.
func (d *detector) mvn(dir string) {
	command, install := []string{"mvn", "-B"}, "mvn -B"
	pom := path.Join(dir, "pom.xml")
	if dir != "." {
		command, install = append(command, "-f", pom), install+" -f "+text.Shell(pom)
	}
	d.add("mvn-test", dir, spec.Gate{
		Command: append(command, "--fail-at-end", "-DtrimStackTrace=false", "test"), Format: gate.FormatJUnit,
	})
	d.Ignored = append(d.Ignored, path.Join(dir, "target"))
	d.try(".", install+" -q -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true "+
		"-Dsurefire.timeout=60 test", pom, len(d.Gates) > 1)
}

// gradleFiles are those of a build of Gradle.
var gradleFiles = []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}

var (
	jvmTest       = lazyregexp.New(`(?:^|/)src/\w*[tT]est\w*/`)
	includedBuild = lazyregexp.New(`includeBuild\s*\(?\s*["']([^"']+)["']`)
)

// gradle: builds that are a part of no other one. All need an installation: at least that of Gradle.
func (d *detector) gradle() {
	var builds []string
	included, tested := map[string]bool{}, d.above(jvmTest.MatchString)
	for _, name := range gradleFiles {
		for _, file := range d.under(name) {
			dir, settings := path.Dir(file), strings.HasPrefix(name, "settings")
			for _, found := range includedBuild.FindAllStringSubmatch(d.text(file), -1) {
				included[path.Join(dir, found[1])] = true
			}
			above := dir != "." && d.home(dir, gradleFiles...) != ""
			if path.Base(dir) != "buildSrc" && !slices.Contains(builds, dir) && (settings || !above) {
				builds = append(builds, dir)
			}
		}
	}
	builds = slices.DeleteFunc(builds, func(dir string) bool { return included[dir] })
	slices.SortStableFunc(builds, nearer)
	for _, dir := range d.most("Gradle builds", builds) {
		program, needs := "gradle", "gradle"
		if at := d.home(path.Join(dir, "x"), "gradlew"); at != "" {
			program, needs = "./"+path.Join(at, "gradlew"), "java"
		}
		switch {
		case !tested[dir]:
			d.leave("Gradle builds", dir, noTests)
		case d.ready("Gradle builds", dir, needs, false):
			d.gradleBuild(dir, program)
		}
	}
}

// gradleBuild adds the gate and the setup of a build. As with Maven, running the tests fetches what they need; where that fails,
// what was fetched has to be enough to compile them.
func (d *detector) gradleBuild(dir, program string) {
	command := []string{program, "--no-daemon", "--continue"}
	if dir != "." {
		command = append(command, "-p", dir)
	}
	var quoted []string
	for _, word := range command {
		quoted = append(quoted, text.Shell(word))
	}
	line := strings.Join(quoted, " ")
	d.add("gradle-test", dir, spec.Gate{Command: append(command, "--offline", "test"), Format: gate.FormatText})
	d.Ignored = append(d.Ignored, path.Join(dir, "build"))
	alone := len(d.Gates) == 1
	d.try(".", "{ "+line+" test || "+line+" --offline testClasses; }", path.Join(dir, "build.gradle"), !alone)
}

package detect

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

var (
	makefiles = []string{"GNUmakefile", "makefile", "Makefile"}
	ctests    = lazyregexp.New(`(?i)\b(?:enable_testing|add_test|\w*_discover_tests)\s*\(|include\s*\(\s*CTest\b`)
	cSource   = lazyregexp.New(`\.(?:c|cc|cpp|cxx|c\+\+)$`)
)

// native: projects of CMake with tests, and Makefiles with a target for tests. They come last: where another tool is found at the
// top, a Makefile there would run the same tests once more; one below counts where there is C.
func (d *detector) native() {
	alone, c, tests := len(d.Gates) == 0, d.above(cSource.MatchString), d.above(func(file string) bool {
		return path.Base(file) == "CMakeLists.txt" && ctests.MatchString(d.text(file))
	})
	var found []string
	for _, name := range append([]string{"CMakeLists.txt"}, makefiles...) {
		for _, file := range d.under(name) {
			found = append(found, path.Dir(file))
		}
	}
	slices.SortStableFunc(found, nearer)
	var dirs []string
	byCMake := func(dir string) bool { return d.known[path.Join(dir, "CMakeLists.txt")] && tests[dir] }
	for _, dir := range found {
		inside := slices.ContainsFunc(dirs, func(up string) bool { return within(dir, up) })
		if !inside && (alone && dir == "." || c[dir]) && (byCMake(dir) || d.target(dir) != "" && (alone || dir != ".")) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range d.most("C projects", dirs) {
		target := d.target(dir)
		switch {
		case byCMake(dir) && (target == "" || d.Has == nil || d.Has("cmake")):
			if d.ready("CMake projects", dir, "cmake", alone) {
				d.cmake(dir)
			}
		case d.ready("Makefiles of", dir, "make", alone):
			d.make(dir, target)
		}
	}
}

// above returns the directories with a file below them that a function picks, of those that are the repository's own.
func (d *detector) above(pick func(file string) bool) map[string]bool {
	dirs := map[string]bool{}
	for _, file := range d.files {
		for dir := path.Dir(file); !dirs[dir] && !foreign(file) && pick(file); dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return dirs
}

// cmake adds the gate of a project of CMake, which is built outside of the tree. The report of ctest names its tests.
func (d *detector) cmake(dir string) {
	const built, report = `"$TMPDIR/build"`, `"$TMPDIR/ctest.xml"`
	test := strings.Join([]string{
		"ctest", "--test-dir", built, "--output-on-failure", "--no-tests=error", "--output-junit", report,
	}, " ")
	d.add("cmake-test", dir, spec.Gate{
		Command: []string{"sh", "-c", "cmake -S " + text.Shell(dir) + " -B " + built + " && cmake --build " + built +
			" -j 4 && { " + test + "; code=$?; cat " + report + "; exit $code; }"},
		Format: gate.FormatJUnit,
	})
}

// make adds the gate of a Makefile.
func (d *detector) make(dir, target string) {
	command := []string{"make"}
	if dir != "." {
		command = append(command, "-C", dir)
	}
	d.add("make-"+target, dir, spec.Gate{Command: append(command, target)})
}

// target is the target for tests in a directory's Makefile: check before test, which may take hours where there are both.
func (d *detector) target(dir string) string {
	i := slices.IndexFunc(makefiles, func(file string) bool { return d.text(path.Join(dir, file)) != "" })
	if i < 0 {
		return ""
	}
	has := map[string]bool{}
	for line := range strings.Lines(d.text(path.Join(dir, makefiles[i]))) {
		targets, rest, found := strings.Cut(line, ":")
		if !found || strings.ContainsAny(targets, "\t#=") || strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, ":=") {
			continue
		}
		for name := range strings.FieldsSeq(targets) {
			has[name] = true
		}
	}
	for _, name := range []string{"check", "test"} {
		if has[name] {
			return name
		}
	}
	return ""
}

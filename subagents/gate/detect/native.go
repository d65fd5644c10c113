package detect

import (
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

var (
	makefiles  = []string{"GNUmakefile", "makefile", "Makefile"}
	ctests     = lazyregexp.New(`(?i)\b(?:enable_testing|add_test|\w*_discover_tests)\s*\(|include\s*\(\s*CTest\b`)
	mesonTests = lazyregexp.New(`(?m)^\s*test\s*\(`)
	amTests    = lazyregexp.New(`(?m)^(?:TESTS|check_PROGRAMS)\b`)
	// testOption matches an option that adds tests and is off.
	testOption = lazyregexp.New(`(?mi)^\s*option\s*\(\s*(\w*TEST(?:S|ING)?)\s+"[^"]*"\s*(?:OFF\s*)?\)`)
	// fetchesContent matches what downloads sources while a project of CMake is configured.
	fetchesContent = lazyregexp.New(`(?i)\b(?:FetchContent_(?:MakeAvailable|Populate)|CPM(?:Add|Find)Package)\s*\(`)
	cSource        = lazyregexp.New(`\.(?:c|cc|cpp|cxx|c\+\+)$`)
)

// system is a build system for C: what the machine needs for it, where it has tests, and what adds its gate.
type system struct {
	file, program string
	tests         func(dir string) bool
	add           func(dir string)
}

// systems: the one that names its tests best comes first, a build alone last.
func (d *detector) systems(alone bool) []system {
	tests := func(file string, adds *lazyregexp.Regexp) func(dir string) bool {
		tested := d.above(func(f string) bool {
			return slices.Contains([]string{file, "Makefile.am"}, path.Base(f)) && adds.MatchString(d.text(f))
		})
		return func(dir string) bool { return tested[dir] && d.known[path.Join(dir, file)] }
	}
	return []system{
		{"CMakeLists.txt", "cmake", tests("CMakeLists.txt", ctests), d.cmake},
		{"meson.build", "meson", tests("meson.build", mesonTests), d.meson},
		{"configure.ac", "autoreconf", tests("configure.ac", amTests), d.autoconf},
		{"Makefiles", "make", func(dir string) bool { return d.target(dir) != "" && (alone || dir != ".") }, d.make},
		{
			"CMakeLists.txt", "cmake", func(dir string) bool { return alone && dir == "." && d.known["CMakeLists.txt"] },
			func(dir string) {
				d.add("cmake-build", dir, spec.Gate{Command: []string{"sh", "-c", d.cmakeBuild(dir)}})
			},
		},
	}
}

// native: projects of CMake, Meson and autoconf with tests, and Makefiles with a target for tests. They come last: where another
// tool is found at the top, a Makefile there would run the same tests once more; one below counts where there is C.
func (d *detector) native() {
	alone, c := len(d.Gates) == 0, d.above(cSource.MatchString)
	c["."] = c["."] || alone
	var dirs []string
	systems := d.systems(alone)
	for _, dir := range slices.SortedStableFunc(slices.Values(slices.Sorted(maps.Keys(c))), nearer) {
		inside := slices.ContainsFunc(dirs, func(up string) bool { return within(dir, up) })
		if !inside && c[dir] && slices.ContainsFunc(systems, func(s system) bool { return s.tests(dir) }) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range d.most("C projects", dirs) {
		of := slices.DeleteFunc(slices.Clone(systems), func(s system) bool { return !s.tests(dir) })
		s := of[max(0, slices.IndexFunc(of, func(s system) bool { return d.Has == nil || d.Has(s.program) }))]
		if d.ready(s.file, dir, s.program, alone) {
			s.add(dir)
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

// built is where a project is built: outside of the tree.
const built = `"$TMPDIR/build"`

// cmakeBuild is the line that builds a project of CMake, with its tests. What configuring it downloads, setup keeps.
func (d *detector) cmakeBuild(dir string) string {
	lists := path.Join(dir, "CMakeLists.txt")
	line := "cmake -S " + text.Shell(dir) + " -B " + built
	for _, option := range testOption.FindAllStringSubmatch(d.text(lists), -1) {
		line += " -D" + option[1] + "=ON"
	}
	if d.Whole && slices.ContainsFunc(d.files, func(file string) bool {
		return within(file, dir) && !foreign(file) && (path.Ext(file) == ".cmake" || path.Base(file) == "CMakeLists.txt") &&
			fetchesContent.MatchString(d.text(file))
	}) {
		const deps, kept = `"$TMPDIR/build/_deps"`, `"$DIVISI_TOOLS/fetched"`
		d.try(".", "mkdir -p "+deps+" "+kept+" && "+line+" && find "+deps+" -name '*-src' -prune -exec cp -R '{}' "+kept+" ';'",
			lists, dir != "." || len(d.Gates) > 0)
		line = "mkdir -p " + built + " && cp -R " + kept + " " + deps + " && " + line + " -DFETCHCONTENT_FULLY_DISCONNECTED=ON"
	}
	return line + " && cmake --build " + built + " -j 4"
}

// cmake adds the gate of a project of CMake. The report of ctest names its tests.
func (d *detector) cmake(dir string) {
	const report = `"$TMPDIR/ctest.xml"`
	test := []string{"ctest", "--test-dir", built, "--output-on-failure", "--no-tests=error", "--output-junit", report}
	d.reported("cmake-test", dir, d.cmakeBuild(dir), strings.Join(test, " "), report)
}

// meson adds the gate of a project of Meson.
func (d *detector) meson(dir string) {
	d.reported("meson-test", dir, "meson setup "+built+" "+text.Shell(dir)+" && meson compile -C "+built,
		"meson test --no-rebuild -C "+built, `"$TMPDIR/build/meson-logs/testlog.junit.xml"`)
}

// reported adds a gate that builds, tests and prints the report of the tests.
func (d *detector) reported(name, dir, build, test, report string) {
	d.add(name, dir, spec.Gate{
		Command: []string{"sh", "-c", build + " && { " + test + "; code=$?; cat " + report + "; exit $code; }"},
		Format:  gate.FormatJUnit,
	})
}

// autoconf adds the gate of a project of autoconf, which is made in a copy: it writes its scripts beside their sources.
func (d *detector) autoconf(dir string) {
	d.add("make-check", dir, spec.Gate{Command: []string{"sh", "-c", "cp -R " + text.Shell(dir) + " " + built + " && cd " +
		built + " && autoreconf -fi && ./configure && make -j 4 && make check"}})
}

// make adds the gate of a Makefile.
func (d *detector) make(dir string) {
	command, target := []string{"make"}, d.target(dir)
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

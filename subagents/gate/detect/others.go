package detect

import (
	"bytes"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/gate"
)

func (d *detector) rust() {
	if !d.known["Cargo.toml"] {
		return
	}
	d.add("cargo-test", ".", spec.Gate{
		Command: []string{"cargo", "test", "--workspace", "--no-fail-fast"}, Format: gate.FormatText,
	})
	switch lock := d.text("Cargo.lock"); {
	case strings.Contains(lock, "\nsource = "):
		d.install(".", "cargo fetch --locked", "Cargo.lock")
	case !d.known["Cargo.lock"] && strings.Contains(d.text("Cargo.toml"), "dependencies"):
		d.install(".", "cargo fetch", "Cargo.toml")
	}
}

// maven: surefire would leave out of a stack what is not the test's, which leads to the cause. What it needs is found by running
// the tests once, with the network; dependency:go-offline leaves some of it out. What does not compile or fails is for the gate
// to tell: a base that is broken in part has an environment too.
func (d *detector) maven() {
	if !d.known["pom.xml"] {
		return
	}
	d.add("mvn-test", ".", spec.Gate{
		Command: []string{"mvn", "-B", "--fail-at-end", "-DtrimStackTrace=false", "test"}, Format: gate.FormatJUnit,
	})
	d.Ignored = append(d.Ignored, "target")
	d.install(".", "mvn -B -q -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true test", "pom.xml")
}

var testTarget = lazyregexp.New(`(?m)^test[ \t]*:(?:[^=]|$)`)

// make comes last: where another tool is found, its test target would run the same tests once more.
func (d *detector) make() {
	files := []string{"GNUmakefile", "makefile", "Makefile"}
	i := slices.IndexFunc(files, func(file string) bool { return d.text(file) != "" })
	if i >= 0 && testTarget.Match(bytes.TrimSpace([]byte(d.text(files[i])))) {
		d.add("make-test", ".", spec.Gate{Command: []string{"make", "test"}})
	}
}

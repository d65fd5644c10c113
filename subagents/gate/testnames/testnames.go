// Package testnames keeps which tests ran and passed in a gate. Its input are the names that a gate's output gives, without what
// differs from run to run; its output are sorted lists, their form as objects, and what one run lacks of another. It reads no
// output itself.
package testnames

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// The bounds of what is kept of one run. Beyond them it is not known which tests ran.
const (
	maxTests = 500_000
	maxBytes = 64 << 20
)

// Test is one test by its name, which has no line ends, and by what groups it: a Go package, a class, a file; "" where the output
// does not tell.
type Test struct{ Group, Name string }

// String is the name with its group.
func (t Test) String() string { return strings.TrimSpace(t.Group + " " + t.Name) }

// parameters follow the name of a test: TestA/sub, test_a[x], a(int)[1], a{int}, test_a (i=1). A title has blanks in it.
var parameters = lazyregexp.New(`^([^\s/\[({<]+)(?:/\S*| ?[\[({<].*)$`)

// Parent is the test that a case belongs to, by its name without parameters: a Go test with subtests, a test that runs with
// several values. It is the name itself where that has none.
func (t Test) Parent() string {
	if m := parameters.FindStringSubmatch(t.Name); m != nil {
		return m[1]
	}
	return t.Name
}

func (t Test) above() Test { return Test{t.Group, t.Parent()} }

// Tests are those that ran and passed in one run. The zero value is ready for use.
type Tests struct {
	passed map[Test]struct{}
	// skipped are those that the runner names as skipped.
	skipped map[Test]struct{}
	groups  map[string]struct{}
	// cut are the groups that ended before their last test: which of them ran is chance.
	cut   map[string]struct{}
	bytes int
}

// Seen records that a group ran, and returns its name in one line.
func (t *Tests) Seen(group string) string {
	if strings.ContainsAny(group, "\t\r\n") {
		group = strings.Join(strings.Fields(group), " ")
	}
	if t.groups == nil {
		t.groups = map[string]struct{}{}
	}
	if _, known := t.groups[group]; !known && !t.over() {
		t.groups[group] = struct{}{}
		t.bytes += len(group)
	}
	return group
}

// Cut records that a group ended before its last test: its tests do not count.
func (t *Tests) Cut(group string) {
	if t.cut == nil {
		t.cut = map[string]struct{}{}
	}
	t.cut[group] = struct{}{}
}

// Pass records a test that ran and passed. One without a name is left out.
func (t *Tests) Pass(group, name string) { t.record(&t.passed, group, name) }

// Skip records a test that was skipped.
func (t *Tests) Skip(group, name string) { t.record(&t.skipped, group, name) }

func (t *Tests) record(in *map[Test]struct{}, group, name string) {
	one := Test{t.Seen(group), name}
	if _, known := (*in)[one]; known || name == "" || t.over() {
		return
	}
	if *in == nil {
		*in = map[Test]struct{}{}
	}
	(*in)[one] = struct{}{}
	t.bytes += len(one.Group) + len(name)
}

// Skipped returns those of a list that were skipped.
func (t *Tests) Skipped(of List) (skipped List) {
	for _, one := range of {
		if _, ok := t.skipped[one]; ok {
			skipped = append(skipped, one)
		}
	}
	return skipped
}

func (t *Tests) over() bool {
	return len(t.passed)+len(t.skipped) > maxTests || len(t.groups) > maxTests || t.bytes > maxBytes
}

// Known reports whether tests were named, and not more than are kept.
func (t *Tests) Known() bool { return len(t.passed) > 0 && !t.over() }

// List returns all tests that passed; none where these are not known.
func (t *Tests) List() List {
	if !t.Known() {
		return nil
	}
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(t.passed), compare), func(one Test) bool {
		_, cut := t.cut[one.Group]
		return cut
	})
}

// Missing returns those of a list that did not pass. Of a part of a gate these are of groups that ran in it. A test, or a case of
// it, is not missing where as many of its cases passed as are in the list: a test gets parameters. Nor is a case whose test
// itself is missing, nor one with tests in it now, by their titles. Beyond the bounds nothing is known to be missing.
func (t *Tests) Missing(of List, part bool) (missing List) {
	if t.over() {
		return nil
	}
	had, has, holds := map[Test]int{}, map[Test]int{}, map[Test]bool{}
	for _, one := range of {
		had[one.above()]++
	}
	for one := range t.passed {
		has[one.above()]++
		for at, r := range one.Name {
			if r == '>' && at > 1 {
				holds[Test{one.Group, one.Name[:at-1]}] = true
			}
		}
	}
	for _, one := range of {
		_, ran := t.groups[one.Group]
		_, cut := t.cut[one.Group]
		_, passed := t.passed[one]
		if passed || cut || holds[one] || part && (!ran || one.Group == "") {
			continue
		}
		parent := one.above()
		_, goesOn := t.passed[parent]
		_, listed := slices.BinarySearchFunc(of, parent, compare)
		if has[parent] < had[parent] && (parent == one || goesOn || !listed) {
			missing = append(missing, one)
		}
	}
	return missing
}

// List are tests, each once, sorted.
type List []Test

func compare(a, b Test) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
}

// Parents are the tests of a list, each once, without parameters.
func (l List) Parents() List {
	all := make(List, 0, len(l))
	for _, t := range l {
		all = append(all, t.above())
	}
	return all.And(nil)
}

// In returns those that are in another list too.
func (l List) In(other List) List { return l.with(other, true) }

// Without returns those that are not in another list.
func (l List) Without(other List) List { return l.with(other, false) }

func (l List) with(other List, in bool) (out List) {
	for _, t := range l {
		if _, has := slices.BinarySearchFunc(other, t, compare); has == in {
			out = append(out, t)
		}
	}
	return out
}

// And returns those that are in one of two lists.
func (l List) And(other List) List {
	all := append(slices.Clone(l), other...)
	slices.SortFunc(all, compare)
	return slices.Compact(all)
}

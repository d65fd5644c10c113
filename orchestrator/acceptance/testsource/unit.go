// Package testsource reads what tests assert: their cases, the assertions that can fail them, how much each says, and the values
// that it compares. It decides nothing. Go has a reader of its own, in gosource; other languages are read by patterns.
package testsource

import (
	"fmt"

	"divisi/internal/text"
)

// What is counted of tests: cases are rows of tables and subtests, exact are the assertions of a whole value. Exits lead out of a
// test without an assertion, or keep a failure from it; stubs replace what it tests, off is a file that builds leave out or whose
// tests never run, silent tests assert nothing. From skips on more is worse.
const (
	Tests = iota
	Cases
	Assertions
	Exact
	Skips
	Exits
	Stubs
	Off
	Silent
	Kinds
)

// Not weighed: once are all assertions as if each table had one row, errorless those that there is no error.
const (
	Once = Kinds + iota
	Errorless
	counted
)

// Counts are the numbers of each kind in one test, or in several.
type Counts [counted]int

// Add adds others.
func (c *Counts) Add(o Counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// Asserted are the kinds that count what is asserted. A helper's count where it is called, and not by themselves.
var Asserted = []int{Assertions, Exact, Once, Errorless}

// Silence drops what is asserted.
func (c *Counts) Silence() {
	for _, kind := range Asserted {
		c[kind] = 0
	}
}

// Unit is one test or one helper, with what it expects.
type Unit struct {
	Path, Name string
	Line       int
	Test       bool
	Counts     Counts
	Literals   []Literal
	// Text is the source of a test, Says its assertions.
	Text string
	Says []Said
}

// Settle counts the test as silent where nothing in it asserts.
func (u *Unit) Settle() {
	if u.Test && u.Counts[Assertions]+u.Counts[Errorless] == 0 {
		u.Counts[Silent] = 1
	}
}

// Said is an assertion, whether it is about a whole value, and the values in it.
type Said struct {
	Text     string
	Whole    bool
	Literals []Literal
}

// MaxDepth bounds what is read of names and brackets in others.
const MaxDepth = 32

var space = re(`\s+`)

// Key is the text without blanks.
func (s Said) Key() string { return space.ReplaceAllString(s.Text, "") }

// Literal is a value that an assertion compares: n a number, s a string, b a truth, o a line of an example's output.
type Literal struct {
	Value
	Path string
	Line int
	// Beside is the line or the assertion that it is in.
	Beside string
}

// Value is a value by its kind.
type Value struct {
	Kind byte
	Text string
}

// String shows a value of a test.
func (v Value) String() string {
	if v.Kind == 's' || v.Kind == 'o' {
		return text.Quote(text.Short(v.Text, 60))
	}
	return text.Short(v.Text, 60)
}

// Key joins the units of one file and name: suites have methods of the same name.
func (u Unit) Key() string { return fmt.Sprintf("%s\x00%t %s", u.Path, u.Test, u.Name) }

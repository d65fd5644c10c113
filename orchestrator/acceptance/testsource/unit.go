// Package testsource reads what tests assert: their cases, the assertions that can fail them, how much each says, and the values
// that it compares. It decides nothing. Go has a reader of its own, in gosource; other languages are read by patterns.
package testsource

import (
	"strconv"

	"divisi/internal/text"
)

// What is counted of tests: cases are rows of tables and subtests. Of assertions, certain are those under no condition, sized
// those of a part, a size or a truth of a value, exact those of the whole value. Exits lead out of a test without an assertion,
// stubs replace what a test calls, own are expected values that what is tested computes, off is a file that builds leave out, or
// whose tests never run. From skips on more is worse.
const (
	Tests = iota
	Cases
	Assertions
	Certain
	Sized
	Exact
	Skips
	Exits
	Stubs
	Own
	Off
	Kinds
)

// Not weighed: assertions that there is no error, and what makes them needless: errors that are no longer returned, awaits.
// once are all assertions as if each table had one row.
const (
	Errorless = Kinds + iota
	Awaits
	Returned
	Once
	counted
)

// Counts are the numbers of each kind in one test, one file, or all files of a language.
type Counts [counted]int

// Add adds others.
func (c *Counts) Add(o Counts) {
	for kind, n := range o {
		c[kind] += n
	}
}

// Asserted are the kinds that count what is asserted. A helper's count where it is called, and not by themselves.
var Asserted = []int{Assertions, Sized, Exact, Errorless, Once}

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

// Said is an assertion, how much it says, and the values in it.
type Said struct {
	Text     string
	Says     Strength
	Literals []Literal
}

// Key is the text without blanks.
func (s Said) Key() string { return space.ReplaceAllString(s.Text, "") }

// Literal is a value that an assertion compares: n a number, s a string, b a truth, o a line of an example's output. Of t, a
// tolerance, more is weaker.
type Literal struct {
	Value
	Path string
	Line int
	// Present reports that it is the 0 of > 0: any number above says more.
	Present bool
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
func (u Unit) Key() string { return u.Path + "\x00" + u.Name }

// Size is the number that a literal is; 0 for none.
func (l Literal) Size() float64 {
	n, _ := strconv.ParseFloat(l.Text, 64)
	return n
}

// Package mutant changes programs in small ways, one at a time, to see which tests notice: mutation testing with a schema
// (Untch, Offutt, Harrold 1993), where one program holds all mutants and a variable chooses one. Its input is a package of Go
// with new tests and a function that runs commands; its output what these tests find.
package mutant

// Var is the variable that chooses a mutant by its number; with a number of none the program does as its source says. SeenVar
// names a file to which the program appends the numbers of mutants that it reaches, a line each.
const (
	Var     = "DIVISI_MUTANT"
	SeenVar = "DIVISI_MUTANTS_SEEN"
)

// Kind is what a mutant changes.
type Kind string

// The kinds of mutants.
const (
	Condition Kind = "condition" // the opposite, or another operator
	Boundary  Kind = "boundary"  // < in place of <=
	Constant  Kind = "constant"
	Returned  Kind = "returned value"
	Call      Kind = "call" // one that is not made
	Element   Kind = "element"
	Failure   Kind = "error"   // one that is swallowed, another one, or one where there was none
	Default   Kind = "default" // of an argument
	Row       Kind = "row"     // of data that tests read
)

// Mutant is one small change of a program.
type Mutant struct {
	// Number is that in Var.
	Number int
	Kind   Kind
	// File and Line are the place in the source; Func is the function around it, with its receiver.
	File, Func string
	Line       int
	// Old and New are the statement before and after the change.
	Old, New string
	// from and to are the lines of the mutated file that a compiler can complain of.
	from, to int
}

// At reports whether a line of the mutated file is of the mutant, and the compiler complains of it there.
func (m Mutant) At(file string, line int) bool {
	return m.File == file && m.from <= line && line <= m.to
}

// most bounds the mutants of one statement: more of one place tell nothing new.
const most = 6

// Package symbols outlines source files: Go by its own parser, other languages by universal-ctags. Its input is the content
// or the path of a file, its output the declarations with their lines. It never shows the code of a body and never stops at
// a file that has errors: a note reports what is wrong.
package symbols

// MaxSymbol bounds what is shown of one symbol, in characters.
const MaxSymbol = 200

// Symbol is one declaration of a file, with its first and last line.
type Symbol struct {
	Line, End int
	Text      string
}

// File is the outline of one file.
type File struct {
	// Head is shown beside its name; Note reports what is wrong with it.
	Head, Note string
	Symbols    []Symbol
}

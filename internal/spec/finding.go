package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is one diagnostic of a checker: an error of a compiler, a remark of a linter, a test that failed.
type Finding struct {
	// Signature is the name under which it counts: without its place, and without what differs from run to run.
	Signature string `json:"signature"`
	// Message is the text of the tool about it, in one line, without its place. Code is the tool's own name for the kind.
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
	// Tool is the program that reports it, where the output reports which. Severity is empty for an error, else warning or note.
	Tool     string `json:"tool,omitempty"`
	Severity string `json:"severity,omitempty"`
	// Symbol is the failed test, the function that a tool names, or the name that a compiler does not accept.
	Symbol string `json:"symbol,omitempty"`
	// File is relative to the top of the tree; Line and Column count from 1, and are 0 where they are not known. Source is the
	// text of the line.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Source string `json:"source,omitempty"`
}

// String returns the symbol where the message does not have it, the place, the message and the code.
func (f Finding) String() string {
	said := f.Message
	if f.Code != "" {
		said += " (" + f.Code + ")"
	}
	place := f.File
	if f.File != "" && f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	if f.File != "" && f.Line > 0 && f.Column > 0 {
		place += fmt.Sprintf(":%d", f.Column)
	}
	symbol := f.Symbol
	ofTest := strings.HasPrefix(f.Signature, "test: ") || strings.HasPrefix(f.Signature, "suite: ")
	if !ofTest && strings.Contains(said, symbol) {
		symbol = ""
	}
	parts := slices.DeleteFunc([]string{symbol, place, said}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

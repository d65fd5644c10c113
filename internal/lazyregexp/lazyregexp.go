// Package lazyregexp compiles a regular expression when it is first used: hundreds of them compiled at every start cost each
// command 15 ms (the same idea as internal/lazyregexp of the go command).
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// inTest reports whether this is a test binary: there every expression is compiled at once, so that a wrong one fails every test.
var inTest = len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test")

// A Regexp is a constant regular expression. Its methods are those of regexp.Regexp and safe for use by several goroutines.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns the expression. The first use panics when it does not compile.
func New(expression string) *Regexp {
	r := &Regexp{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
	if inTest {
		r.compiled()
	}
	return r
}

// String returns the expression.
func (r *Regexp) String() string { return r.compiled().String() }

// MatchString is that of regexp.Regexp.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// Match is that of regexp.Regexp.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// FindString is that of regexp.Regexp.
func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

// FindAllString is that of regexp.Regexp.
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

// FindAllStringIndex is that of regexp.Regexp.
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex is that of regexp.Regexp.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// FindStringSubmatch is that of regexp.Regexp.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindStringSubmatchIndex is that of regexp.Regexp.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// FindStringIndex is that of regexp.Regexp.
func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

// FindSubmatch is that of regexp.Regexp.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

// FindAllSubmatch is that of regexp.Regexp.
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

// FindAllIndex is that of regexp.Regexp.
func (r *Regexp) FindAllIndex(b []byte, n int) [][]int { return r.compiled().FindAllIndex(b, n) }

// FindAll is that of regexp.Regexp.
func (r *Regexp) FindAll(b []byte, n int) [][]byte { return r.compiled().FindAll(b, n) }

// FindIndex is that of regexp.Regexp.
func (r *Regexp) FindIndex(b []byte) []int { return r.compiled().FindIndex(b) }

// ReplaceAllLiteralString is that of regexp.Regexp.
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.compiled().ReplaceAllLiteralString(s, with)
}

// ReplaceAllString is that of regexp.Regexp.
func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc is that of regexp.Regexp.
func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}

// ReplaceAllFunc is that of regexp.Regexp.
func (r *Regexp) ReplaceAllFunc(b []byte, with func([]byte) []byte) []byte {
	return r.compiled().ReplaceAllFunc(b, with)
}

// SubexpIndex is that of regexp.Regexp.
func (r *Regexp) SubexpIndex(name string) int { return r.compiled().SubexpIndex(name) }

// SubexpNames is that of regexp.Regexp.
func (r *Regexp) SubexpNames() []string { return r.compiled().SubexpNames() }

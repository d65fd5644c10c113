package mutant

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

// GoTests are the texts, by their names, of the tests of a Go file that differ from those in another version of it.
func GoTests(file string, now, before []byte) (map[string]string, error) {
	texts, _, err := testTexts(file, before)
	if err != nil {
		texts = nil // what could not be read before is new
	}
	changed, _, err := testTexts(file, now)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(changed, func(name, text string) bool { return texts[name] == text })
	return changed, nil
}

var testName = lazyregexp.New(`(?m)^(?:Test|Example|Fuzz)\S*$`)

// testTexts are the tests of a file, by their names, and the forms of its other declarations, without imports.
func testTexts(file string, source []byte) (texts map[string]string, others map[string]bool, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("read the tests of %s: %w", file, err)
	}
	texts, others = map[string]string{}, map[string]bool{}
	for _, d := range parsed.Decls {
		text := string(source[set.PositionFor(d.Pos(), false).Offset:set.PositionFor(d.End(), false).Offset])
		fun, ok := d.(*ast.FuncDecl)
		if ok && fun.Recv == nil && testName.MatchString(fun.Name.Name) && fun.Name.Name != "TestMain" {
			texts[fun.Name.Name] = text
		} else if of, ok := d.(*ast.GenDecl); !ok || of.Tok != token.IMPORT {
			others[formOf(text, true)] = true
		}
	}
	return texts, others, nil
}

// Touched are the tests of a package that a patch touches: those whose text differs in more than what it renames, or All where
// something else of their files does.
type Touched struct {
	All bool
	// indented reports whether white space at the beginning of a line counts.
	indented bool
	// was and now are the texts of all tests of the files, was with the new names; rest are those of what else is in them.
	was, now map[string]string
	rest     [2]string
	// Brief is what the task asks for; product and since are the code before the patch and after it.
	Brief          string
	Product, Since map[string][]byte
}

// OfTests reports whether a Go file is of tests, or helps them.
func OfTests(file string, source []byte) bool {
	return strings.HasSuffix(file, "_test.go") || bytes.Contains(source, []byte(`"testing"`))
}

// Add adds the tests of a file before and after the patch; nil is the text of a file that is not there.
func (t *Touched) Add(file string, before, after []byte, r Renames) error {
	if t.was == nil {
		t.was, t.now = map[string]string{}, map[string]string{}
	}
	var others [2]map[string]bool
	for side, source := range [][]byte{r.In(before), after} {
		if len(source) == 0 {
			continue
		}
		texts, forms, err := testTexts(file, source)
		if err != nil {
			return err
		}
		maps.Copy([]map[string]string{t.was, t.now}[side], texts)
		t.rest[side] += without(string(source), texts)
		others[side] = forms
	}
	for form := range others[0] {
		t.All = t.All || others[1] != nil && !others[1][form]
	}
	return nil
}

// Rename has tests compared that have another name now, and adds the new names.
func (t *Touched) Rename(r Renames, before, after map[string][]byte) {
	for was, now := range RenamesOf(before, after) {
		_, stays := t.now[was]
		_, had := t.was[now]
		if text := t.was[was]; text != "" && t.now[now] != "" && !stays && !had {
			r[was], t.was[now] = now, strings.Replace(text, was, now, 1)
			delete(t.was, was)
		}
	}
}

// Tests are those whose text differs.
func (t *Touched) Tests() []string {
	names := map[string]bool{}
	for side, texts := range []map[string]string{t.was, t.now} {
		others := []map[string]string{t.now, t.was}[side]
		for name, text := range texts {
			if formOf(text, true) != formOf(others[name], true) || t.indented && indents(text) != indents(others[name]) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// indents are the white space and the first word of each line.
func indents(text string) string { return strings.Join(indent.FindAllString(text, -1), "\n") }

var indent = lazyregexp.New(`(?m)^[ \t]*\w+`)

func (t *Touched) flags() []string {
	if t.All {
		return []string{"-test.v"}
	}
	return []string{"-test.v", "-test.run=^(" + strings.Join(t.Tests(), "|") + ")$"}
}

// Lines are the first lines of a test that only its text before has, and that only the one after has; "" for none.
func (t *Touched) Lines(name string) (was, now string) {
	before, after := t.texts(name)
	return firstOf(before, after), firstOf(after, before)
}

// texts are a test before and after the patch; what is beside the tests where it is the same.
func (t *Touched) texts(name string) (was, now string) {
	name, _, _ = strings.Cut(name, "/")
	if was, now = t.was[name], t.now[name]; was == now {
		return t.rest[0], t.rest[1]
	}
	return was, now
}

// firstOf is the first line of a text that another one has not.
func firstOf(of, not string) string {
	had := strings.Split(not, "\n")
	for line := range strings.Lines(of) {
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(had, line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// values are the constants that only one of two texts has, or has more often, without quotes.
func values(was, now string) (lost, gained []string) {
	had, has := constants(was), constants(now)
	for _, value := range slices.Sorted(maps.Keys(had)) {
		if has[value] < had[value] {
			lost = append(lost, value)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(has)) {
		if had[value] < has[value] {
			gained = append(gained, value)
		}
	}
	return lost, gained
}

func constants(source string) map[string]int {
	count := map[string]int{}
	scan(source, func(tok token.Token, lit string) {
		switch tok {
		case token.STRING, token.CHAR:
			if text, err := strconv.Unquote(lit); err == nil {
				lit = text
			}
			count[lit]++
		case token.INT, token.FLOAT:
			count[lit]++
		}
	})
	return count
}

// formOf is Go source without blanks and comments, and without its names unless named, but for those of the language, such as
// nil.
func formOf(source string, named bool) string {
	var form strings.Builder
	scan(source, func(tok token.Token, lit string) {
		switch {
		case tok == token.IDENT && !named && types.Universe.Lookup(lit) == nil:
			lit = "_"
		case lit == "" || tok == token.SEMICOLON:
			lit = tok.String()
		}
		form.WriteString(lit + " ")
	})
	return form.String()
}

// FormOf is a digest of what a change does to some lines, without names, and without values that stay; "" for no lines. How
// often it does the same does not matter.
func FormOf(lost, gained []string) string {
	if len(lost)+len(gained) == 0 {
		return ""
	}
	var all []string
	for side, lines := range [][]string{lost, gained} {
		for _, line := range lines {
			form := strings.Repeat("+", side)
			scan(line, func(tok token.Token, _ string) {
				if tok.IsLiteral() {
					tok = token.IDENT
				}
				form += " " + tok.String()
			})
			all = append(all, form)
		}
	}
	slices.Sort(all)
	less, more := values(strings.Join(lost, "\n"), strings.Join(gained, "\n"))
	sum := sha256.Sum256([]byte(strings.Join(slices.Concat(slices.Compact(all), less, []string{"+"}, more), "\n")))
	return hex.EncodeToString(sum[:8])
}

// scan reads the tokens of Go source.
func scan(source string, each func(token.Token, string)) {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", -1, len(source)), []byte(source), func(token.Position, string) {}, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		each(tok, lit)
	}
}

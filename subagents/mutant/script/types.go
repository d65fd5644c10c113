package script

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var (
	typedFile  = lazyregexp.New(`\.[cm]?tsx?$`)
	plainTyped = lazyregexp.New(`\.[cm]?ts$`) // no element can be in it
)

// parsed is a source of JavaScript or TypeScript in tokens.
type parsed struct {
	file, source string
	typed        bool
	tokens       []token
}

func parse(file, source string) (*parsed, bool) {
	l := &lexer{source: source, line: 1, typed: typedFile.MatchString(file), jsx: !plainTyped.MatchString(file)}
	l.read()
	s := &parsed{file, source, l.typed, l.tokens}
	if s.typed {
		s.types()
	}
	return s, !l.bad && len(l.open) == 0
}

func (s *parsed) text(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.source[s.tokens[i].from:s.tokens[i].to]
}

// broken reports whether a line ends between a token and the next one.
func (s *parsed) broken(i int) bool {
	return i+1 >= len(s.tokens) || strings.Contains(s.source[s.tokens[i].to:s.tokens[i+1].from], "\n")
}

// types finds what is type only, and sets it apart.
func (s *parsed) types() {
	for i := 0; i < len(s.tokens); i++ {
		end := i
		switch text := s.text(i); {
		case s.tokens[i].apart, s.text(i-1) == ".":
			continue
		case text == "interface" && s.tokens[min(i+1, len(s.tokens)-1)].kind == word:
			for end < len(s.tokens)-1 && s.text(end) != "{" {
				end++
			}
			end = max(end, s.tokens[end].match)
		case (text == "type" || text == "declare") && s.tokens[min(i+1, len(s.tokens)-1)].kind == word && !s.broken(i):
			end = s.typeEnd(i+1, true)
		case text == "as" || text == "satisfies":
			if i > 0 && s.tokens[i-1].value && (s.tokens[i].parent < 0 || !s.imports(s.tokens[i].parent)) {
				end = s.typeEnd(i+1, false)
			}
		case text == ":" && s.annotates(i):
			end = s.typeEnd(i+1, false)
		}
		for ; i < end; i++ {
			s.tokens[i].apart = true
		}
	}
}

// imports reports whether a brace holds names of another module.
func (s *parsed) imports(brace int) bool {
	before := s.text(brace - 1)
	return before == "import" || before == "export" || before == "type" || before == ","
}

// ends are marks behind a type.
var ends = strings.Fields(", ; ) ] } = && || ?? == === != !== + - * / += -= ?.")

// typeEnd is the place behind a type that begins at a token; whole reports whether it is of a statement, with its name.
func (s *parsed) typeEnd(i int, whole bool) int {
	angle, conditional := 0, false
	for from := i; i < len(s.tokens); i++ {
		switch text := s.text(i); {
		case text == "<":
			angle++
		case strings.Trim(text, ">") == "" && s.tokens[i].kind == mark:
			angle -= len(text)
			if angle < 0 {
				return i
			}
		case angle > 0:
		case text == "=" && whole:
		case text == "extends":
			conditional = true
		case text == "?" && !conditional, text == "=>" && i > from && s.returns(from-1) && s.text(i-1) != ")":
			return i
		case text == "{" && (s.tokens[i].holds == statements || i > from && s.typeOver(i-1)) && (!whole || s.text(i-1) != "=>"):
			return i
		case slices.Contains(ends, text) && s.tokens[i].match < 0, text == ")" || text == "]" || text == "}":
			return i
		}
		if s.tokens[i].match > i {
			i = s.tokens[i].match
		}
		if angle == 0 && s.broken(i) && s.typeOver(i) && !slices.Contains(strings.Fields("| & . extends ? : => ="), s.text(i+1)) {
			return i + 1
		}
	}
	return len(s.tokens)
}

// unfinished are words that a type follows.
var unfinished = strings.Fields("as satisfies keyof typeof readonly infer extends is asserts new unique")

// typeOver reports whether a type can end with a token.
func (s *parsed) typeOver(i int) bool {
	t := s.tokens[i]
	return t.kind != mark && !slices.Contains(unfinished, s.text(i)) ||
		t.match >= 0 || s.text(i) == ">" || s.text(i) == ">>"
}

// returns reports whether a colon stands before the type that a function returns.
func (s *parsed) returns(colon int) bool { return colon > 0 && s.text(colon-1) == ")" }

// annotates reports whether a type follows a colon.
func (s *parsed) annotates(i int) bool {
	parent := s.tokens[i].parent
	if s.returns(i) && !s.ternary(i) {
		return parent < 0 || s.tokens[parent].holds != cases
	}
	switch {
	case s.text(i-1) == "?":
		return true
	case parent >= 0 && s.text(parent) == "[", s.ternary(i):
		return false
	case parent >= 0 && s.text(parent) == "(":
		return true
	case parent >= 0 && s.tokens[parent].holds == members:
		return true
	case parent >= 0 && s.tokens[parent].holds != statements && s.tokens[parent].holds != cases:
		return false
	}
	for j := i - 1; j > parent && j >= i-maxHead; j-- {
		switch s.text(j) {
		case "const", "let", "var":
			return true
		case "=", ";", "case", "default", "?":
			return false
		}
		if m := s.tokens[j].match; m >= 0 && m < j {
			j = m
		}
	}
	return false
}

// ternary reports whether a question mark before a colon waits for one.
func (s *parsed) ternary(i int) bool {
	waits := 1
	for j := i - 1; j > s.tokens[i].parent && j >= i-20*maxHead; j-- {
		switch s.text(j) {
		case "?":
			if s.text(j+1) == ":" || s.text(j+1) == ")" || s.text(j+1) == "," {
				continue // an optional one
			}
			if waits--; waits == 0 {
				return true
			}
		case ":":
			if !s.tokens[j].apart {
				waits++
			}
		case ";", ",", "case", "default":
			return false
		}
		if m := s.tokens[j].match; m >= 0 && m < j {
			j = m
		}
	}
	return false
}

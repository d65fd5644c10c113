package script

import (
	"slices"
	"strconv"
	"strings"

	"divisi/subagents/mutant"
)

// function is the name of the function around a token.
func (m *mutator) function(i int) string {
	for p := m.tokens[i].parent; p >= 0; p = m.tokens[p].parent {
		if m.tokens[p].holds != statements {
			continue
		}
		name, known := m.names[p]
		if !known {
			name = m.named(p)
			m.names[p] = name
		}
		if name != "" {
			return name
		}
	}
	return "the module"
}

// controls are words with a condition and a block.
var controls = strings.Fields("if for while with switch catch")

// named is the name of the function whose body begins with a brace.
func (m *mutator) named(brace int) string {
	i := brace - 1
	arrow := m.text(i) == "=>"
	if arrow {
		i--
	}
	for i > 0 && m.tokens[i].apart { // the type that it returns
		i--
	}
	if m.text(i) == ")" {
		i = m.tokens[i].match
	}
	i--
	if m.text(i) == ">" || i < 0 {
		return ""
	}
	if !arrow {
		name := m.text(i)
		if m.tokens[i].kind == word && name != "function" {
			if slices.Contains(controls, name) {
				return ""
			}
			return name
		}
		i--
	}
	for m.text(i) == "async" || m.text(i) == "*" {
		i--
	}
	if m.text(i) != "=" && m.text(i) != ":" {
		return ""
	}
	for i--; i > 0 && m.tokens[i].apart; i-- { // over its type
	}
	if i >= 0 && m.tokens[i].kind == word {
		return m.text(i)
	}
	return ""
}

// helper tells each of the texts that it is given once. It is written in the oldest form of the language.
const helper = "\n;function divisiReached(n){var d=divisiReached;if(d[n])return;d[n]=1;try{var p=process;" +
	`var f=p.getBuiltinModule?p.getBuiltinModule("fs"):require("fs");f.appendFileSync(p.env.` + mutant.SeenVar +
	`,n.split(" ").join("\n")+"\n")}catch(e){}}` + "\n"

func reachCall(numbers ...string) string {
	return "divisiReached(" + strconv.Quote(strings.Join(numbers, " ")) + ")"
}

// unchecked has the compiler of TypeScript not check the types of a file.
const unchecked = "// @ts-nocheck\n"

// textOf is a source with the change of a number, which it tells when it is loaded: then it is valid. Without one it tells
// which it reaches: those of a body where it begins, and those that run when it is loaded at its end.
func textOf(file, source string, changes []mutant.Change, number int) string {
	var edits []mutant.Change
	if i := slices.IndexFunc(changes, func(c mutant.Change) bool { return c.Number == number }); i >= 0 {
		end := len(source)
		edits = append(edits, changes[i], mutant.Change{From: end, To: end, Alt: helper + reachCall(strconv.Itoa(number))})
	} else {
		edits = marksOf(file, source, changes)
	}
	begin := 0
	if strings.HasPrefix(source, "#!") {
		begin = strings.IndexByte(source, '\n') + 1
	}
	var b strings.Builder
	b.WriteString(source[:begin])
	if typedFile.MatchString(file) {
		b.WriteString(unchecked)
	}
	for _, e := range edits {
		b.WriteString(source[begin:e.From] + e.Alt)
		begin = e.To
	}
	b.WriteString(source[begin:])
	return b.String()
}

// marksOf are calls of the helper.
func marksOf(file, source string, changes []mutant.Change) (edits []mutant.Change) {
	s, ok := parse(file, source)
	if !ok {
		return nil
	}
	around, bodies := s.bodies(), map[int][]string{}
	for _, c := range changes {
		i, _ := slices.BinarySearchFunc(s.tokens, c.From, func(t token, at int) int { return t.from - at })
		bodies[around[i]] = append(bodies[around[i]], strconv.Itoa(c.Number))
	}
	for body, numbers := range bodies {
		call := reachCall(numbers...)
		switch {
		case body < 0:
			edits = append(edits, mutant.Change{From: len(source), To: len(source), Alt: "\n;" + call + ";"})
		case s.text(body) == "=>":
			from, end := s.arrowValue(body)
			edits = append(edits, mutant.Change{From: s.tokens[from].from, To: s.tokens[from].from, Alt: "(" + call + ", "},
				mutant.Change{From: s.tokens[end].to, To: s.tokens[end].to, Alt: ")"})
		default:
			at := body
			for strings.HasPrefix(s.text(at+1), `"use `) || strings.HasPrefix(s.text(at+1), "'use ") || s.text(at+1) == ";" {
				at++
			}
			edits = append(edits, mutant.Change{From: s.tokens[at].to, To: s.tokens[at].to, Alt: ";" + call + ";"})
		}
	}
	edits = append(edits, mutant.Change{From: len(source), To: len(source), Alt: helper})
	slices.SortStableFunc(edits, func(a, b mutant.Change) int { return a.From - b.From })
	return edits
}

// bodies are the innermost tokens that begin a body around each token: a brace, or the arrow before a value; -1 for none.
func (s *parsed) bodies() []int {
	all := make([]int, len(s.tokens))
	for i := range all {
		all[i] = -1
	}
	for i, t := range s.tokens {
		from, end := 0, -1
		switch {
		case t.apart || t.kind != mark:
		case s.text(i) == "{" && t.holds == statements && t.match > i+1:
			from, end = i+1, t.match-1
		case s.text(i) == "=>" && !s.tokens[min(i+1, len(s.tokens)-1)].apart:
			from, end = s.arrowValue(i)
		}
		for j := from; j <= end; j++ {
			all[j] = i
		}
	}
	return all
}

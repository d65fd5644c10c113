package ci

import (
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

// result is what an expression comes to, where that is known. A string is true whatever it says.
type result struct {
	text          string
	known, string bool
}

func (r result) false() bool { return r.known && (r.text == "" || r.text == "false" && !r.string) }

func truth(is, known bool) result { return result{text: strconv.FormatBool(is), known: known} }

// event is the name of what has started a workflow; never are the events that no change starts.
const event = "github.event_name"

var never = strings.Fields("schedule release workflow_dispatch repository_dispatch")

var token = lazyregexp.New(`'(?:[^']|'')*'|==|!=|&&|\|\||[^\s'=!&|(),]+|\S`)

// formula is an expression of GitHub, read word by word. What it does not understand is not known.
type formula struct {
	values
	words []string
	depth int
}

// value is that of an expression.
func (v values) value(text string) result {
	e := &formula{values: v, words: token.FindAllString(text, -1)}
	if r := e.or(); len(e.words) == 0 {
		return r
	}
	return result{}
}

func (e *formula) take(words ...string) (word string) {
	if len(e.words) > 0 && slices.Contains(words, e.words[0]) {
		word, e.words = e.words[0], e.words[1:]
	}
	return word
}

func (e *formula) or() result {
	a := e.and()
	for e.take("||") != "" {
		if b := e.and(); a.false() {
			a = b
		}
	}
	return a
}

func (e *formula) and() result {
	a := e.compared()
	for e.take("&&") != "" {
		if b := e.compared(); a.known && !a.false() || b.false() && !a.known {
			a = b
		}
	}
	return a
}

func (e *formula) compared() result {
	first := append(e.words, "")[0]
	a := e.one()
	sign := e.take("==", "!=")
	if sign == "" {
		return a
	}
	second := append(e.words, "")[0]
	b := e.one()
	other := func(name string, r result) bool { return name == event && r.known && slices.Contains(never, r.text) }
	if other(first, b) || other(second, a) {
		return truth(sign == "!=", true)
	}
	// What a matrix does not have counts as 0.
	nothing := func(a, b result) bool { return a.text == "" && !a.string && b.text == "0" }
	same := strings.EqualFold(a.text, b.text) || nothing(a, b) || nothing(b, a)
	return truth(same == (sign == "=="), a.known && b.known)
}

func (e *formula) one() result {
	if e.depth++; len(e.words) == 0 || e.depth > maxCombinations {
		e.words = nil
		return result{}
	}
	word := e.words[0]
	switch e.words = e.words[1:]; {
	case word == "!":
		a := e.one()
		return truth(a.false(), a.known)
	case word == "(":
		defer e.take(")")
		return e.or()
	case word[0] == '\'':
		return result{strings.ReplaceAll(strings.Trim(word, "'"), "''", "'"), true, true}
	case e.take("(") != "":
		return e.call(word)
	}
	return e.name(word)
}

// call is what a function returns for the arguments that follow.
func (e *formula) call(function string) result {
	of, list, known := append(e.words, "")[0], []string{}, true
	for e.take(")") == "" && len(e.words) > 0 {
		a := e.or()
		e.take(",")
		list, known = append(list, a.text), known && a.known
	}
	list = append(list, "", "")
	text, part := strings.ToLower(list[0]), strings.ToLower(list[1])
	tags := of == "github.ref" && strings.HasPrefix(part, "refs/tags")
	switch function {
	case "failure", "cancelled":
		return truth(false, true)
	case "contains":
		return truth(!tags && strings.Contains(text, part), known || tags)
	case "startsWith":
		return truth(!tags && strings.HasPrefix(text, part), known || tags)
	case "format":
		return format(list, known)
	}
	return result{}
}

// format puts values into a text, unless it gets too long.
func format(list []string, known bool) result {
	for i, value := range list[1:] {
		place := "{" + strconv.Itoa(i) + "}"
		if !known || len(list[0])+strings.Count(list[0], place)*len(value) > maxScript {
			return result{}
		}
		list[0] = strings.ReplaceAll(list[0], place, value)
	}
	return result{list[0], true, true}
}

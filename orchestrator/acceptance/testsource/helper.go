package testsource

import (
	"strings"

	"divisi/internal/text"
)

// helper begins a function, by its name.
var helper = re(`(?m)^[ \t]*(?:(?:export|default|async|public|private|protected|internal|static|final|pub|open|override|` +
	`suspend)(?:\([^)\n]*\))?[ \t]+)*(?:(?:def|fn|function|fun)[ \t]+(?:self\.)?(\w+)|(?:const|let|var)[ \t]+(\w+)[ \t]*=[ \t]*` +
	`(?:async[ \t]*)?(?:function\b|\([^()\n]*\)[ \t]*=>|\w+[ \t]*=>)|[\w<>\[\],.?]+[ \t]+(\w+)\([^;{}()\n]*\)[^;{}()\n]*\{)`)

// others are the functions in what is no test, and first what comes before them.
func (r reading) others(path string, part string, line int) (out []Unit) {
	heads := append(helper.FindAllStringSubmatchIndex(part, -1), []int{len(part), 0})
	u, from := Unit{Path: path, Line: line}, 0
	for _, m := range heads {
		own := part[from:m[0]]
		u.Text = own
		r.count(&u, own)
		out = append(out, u)
		line, from, u = line+strings.Count(own, "\n"), m[0], Unit{Path: path}
		for at := 2; at < len(m); at += 2 {
			if m[at] >= 0 {
				u.Name, u.Line = part[m[at]:m[at+1]], line
			}
		}
	}
	return out
}

// inline adds to each test what the functions assert that it names, and what those assert that they name.
func inline(units []Unit) {
	helpers := map[string]*Unit{}
	for i := range units {
		if u := &units[i]; !u.Test && u.Name != "" && !keywords[u.Name] {
			helpers[u.Name] = u
		}
	}
	read, called := map[*Unit]bool{}, map[*Unit]bool{}
	var add func(u *Unit)
	add = func(u *Unit) {
		if read[u] || u.Name == "" {
			return
		}
		read[u] = true
		for _, name := range Identifiers(u.Text) {
			h := helpers[name]
			if h == nil || h == u {
				continue
			}
			add(h)
			called[h] = called[h] || u.Test
			for _, kind := range Asserted {
				u.Counts[kind] += h.Counts[kind]
			}
		}
	}
	for i := range units {
		add(&units[i])
	}
	for h := range called {
		h.Counts.Silence()
	}
}

// keywords are no functions, though a bracket and a brace follow them.
var keywords = text.Set("if for while switch catch return new else do try")

// endOfBody is the place behind the braces of the function that a text begins with.
func endOfBody(part string) int {
	for i, depth := 0, 0; i < len(part); i = next(part, i) {
		if part[i] == '{' && depth == 0 {
			return balanced(part, i)
		}
		depth += bracket(part[i])
	}
	return len(part)
}

// endOfDo is the place behind the end of a block of Ruby, which is as deep as its beginning.
func endOfDo(part string) int {
	begin := len(part) - len(strings.TrimLeft(part, " \t\r\n"))
	head, rest, _ := strings.Cut(part[begin:], "\n")
	indent := part[strings.LastIndexByte(part[:begin], '\n')+1 : begin]
	for _, closing := range []string{"end", "}"} {
		if at := strings.Index("\n"+rest, "\n"+indent+closing); at >= 0 && !strings.HasSuffix(head, "}") {
			return begin + len(head) + 1 + at + len(indent+closing)
		}
	}
	return begin + len(head)
}

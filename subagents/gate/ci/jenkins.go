package ci

import (
	"path"
	"strings"

	"divisi/internal/lazyregexp"
)

var jenkinsToken = lazyregexp.New(`(?s)//[^\n]*|/\*.*?\*/|\bstage\s*\(\s*['"]([^'"\n]*)['"]|\bdir\s*\(\s*['"]([^'"\n]*)['"]|` +
	`\b(sh|bat|powershell)\b\s*\(?\s*(?:script\s*:\s*)?('''.*?'''|""".*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|` +
	`'''.*?'''|""".*?"""|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\bwithCredentials\b|\bpost\s*\{|[{}]`)

// groovy walks through a Jenkinsfile: at is the place of the commands, next that behind the next brace.
type groovy struct {
	*Found
	at, next place
	outer    []place
}

// jenkins reads the steps of a declarative Jenkinsfile.
func (f *Found) jenkins(file string, data []byte) {
	text := string(data)
	g := groovy{Found: f, at: place{file: file}, next: place{file: file}}
	for _, m := range jenkinsToken.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		if shell := group(3); shell != "" {
			g.step(shell, group(4), strings.Count(text[:m[8]], "\n")+1)
			continue
		}
		g.move(text[m[0]:m[1]], group(1), group(2))
	}
}

func (g *groovy) move(token, stage, dir string) {
	switch {
	case stage != "":
		g.next.job = stage
		if deploys.MatchString(stage) {
			g.next = g.next.but("its stage deploys")
		}
	case dir != "":
		g.next.dir = path.Join(g.at.dir, dir)
	case token == "withCredentials":
		g.next = g.next.but("it needs a secret")
	case strings.HasSuffix(token, "{"):
		if token != "{" {
			g.next = g.next.but("CI runs it after the end")
		}
		g.outer, g.at = append(g.outer, g.at), g.next
	case token == "}" && len(g.outer) > 0:
		g.at = g.outer[len(g.outer)-1]
		g.outer, g.next = g.outer[:len(g.outer)-1], g.at
	}
}

// step adds what a step runs: a text in one or three quotes.
func (g *groovy) step(shell, quotes string, line int) {
	p := g.at
	if shell != "sh" {
		p = p.on("windows")
	}
	around := 1
	if len(quotes) > 5 && quotes[:3] == strings.Repeat(quotes[:1], 3) {
		around = 3
	}
	body := quotes[around : len(quotes)-around]
	if quotes[0] == '"' {
		body = strings.NewReplacer(`\"`, `"`, `\$`, `$`, `\\`, `\`).Replace(body)
	}
	s := new(script)
	s.put(line, body)
	g.script(p, s)
}

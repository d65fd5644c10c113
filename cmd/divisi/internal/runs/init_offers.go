package runs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
)

// chooseCI shows what CI runs, and has a person choose what of it becomes a gate.
func (g *Globals) chooseCI(ctx context.Context, o *initOptions, p *doctor.Proposal) error {
	for _, err := range p.CI.Errors {
		fmt.Fprintln(g.Out, display.Sanitize("The commands of CI are not all known: "+err.Error()))
	}
	n, lines := p.CI.Offers(), p.CI.Lines()
	if n > 0 && o.first { // a run follows: its change is not about the rest of CI
		g.printLines(strings.TrimSuffix(lines[0], ":")+"; choose more of them with:", "  "+o.again(g))
		return nil
	}
	g.printLines(lines...)
	if n > 0 && (o.yes || !g.Interactive()) {
		g.printLines("The numbered ones become no gates: move them from ci.skip to gates in the file below, "+
			"or choose on a terminal:", "  "+o.again(g))
		return nil
	}
	for n > 0 {
		fmt.Fprint(g.Out, "Which become gates too? Numbers such as 1 3, or all; Enter for none: ")
		line, err := cli.Answer(ctx, func() (string, error) { return console.Line(g.In) })
		if err != nil {
			return err
		}
		chosen, wrong := picked(line, n)
		if wrong == "" {
			p.Choose(chosen)
			break
		}
		fmt.Fprintf(g.Out, "%s is no number from 1 to %d\n", display.Sanitize(strconv.Quote(wrong)), n)
	}
	return nil
}

// picked are the places, from 0, that a line of numbers from 1 to n names, each once; wrong is a word that names none.
func picked(line string, n int) (chosen []int, wrong string) {
	named := make([]bool, n)
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		i, err := strconv.Atoi(word)
		switch {
		case word == "all":
			for i := range named {
				named[i] = true
			}
		case err != nil || i < 1 || i > n:
			return nil, word
		default:
			named[i-1] = true
		}
	}
	for i, is := range named {
		if is {
			chosen = append(chosen, i)
		}
	}
	return chosen, ""
}

// chooseServices shows the services that compose files and CI name, and takes them on a yes on a terminal.
func (g *Globals) chooseServices(ctx context.Context, o *initOptions, p *doctor.Proposal) error {
	lines, n := p.Services()
	g.printLines(lines...)
	switch {
	case n == 0:
		return nil
	case o.yes || !g.Interactive():
		_, err := fmt.Fprintln(g.Out, "The services are comments in the file: take them on a terminal without --yes, "+
			"or take the marks away in "+projectPlace)
		return err
	}
	err := g.Confirm(ctx, g.Out, "Do the gates need these services? Yes tries the gates with them, and writes them", "")
	if no := new(cli.EndError); err != nil && !errors.As(err, &no) {
		return err
	}
	if err == nil {
		p.Serve()
	}
	return nil
}

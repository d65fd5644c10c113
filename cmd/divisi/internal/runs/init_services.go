package runs

import (
	"context"
	"errors"
	"fmt"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
)

// chooseServices shows the services that compose files and CI name, and takes them on a yes on a terminal.
func (g *Globals) chooseServices(ctx context.Context, o *initOptions, p *doctor.Proposal) error {
	lines, n := p.Services()
	g.printLines(lines)
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
	p.Serve(err == nil)
	return nil
}

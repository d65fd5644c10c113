package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// ctagsTime bounds one run of ctags.
const ctagsTime = 30 * time.Second

// tag is one line of what ctags prints.
type tag struct {
	Name      string `json:"name"`
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Signature string `json:"signature"`
	Scope     string `json:"scope"`
	Line      int    `json:"line"`
	End       int    `json:"end"`
}

// others has ctags outline the files that are not in Go.
func (t *outline) others(ctx context.Context, found []outlined) {
	at := map[string]*outlined{}
	args := []string{
		"ctags", "--options=NONE", "--quiet", "--output-format=json", "--fields=+neKSs-PZ", "--sort=no", "-f", "-",
	}
	for i := range found {
		if o := &found[i]; o.other {
			at["./"+o.name] = o
			args = append(args, "./"+o.name)
		}
	}
	if len(at) == 0 {
		return
	}
	tags, err := t.ctags(ctx, args)
	for _, o := range at {
		if err != nil {
			o.note = fmt.Sprintf("no outline: %v. Use search with an expression for definitions, such as "+
				`^\s*(export |def |class |fn |function )`+", or read_file", err)
		}
	}
	for _, g := range tags {
		if o := at[g.Path]; o != nil {
			o.symbols = append(o.symbols, symbol{g.Line, g.End, g.text()})
		}
	}
}

func (t *outline) ctags(ctx context.Context, args []string) ([]tag, error) {
	if t.runner == nil {
		return nil, fmt.Errorf("only Go can be outlined here")
	}
	out, err := t.runner.Run(ctx, Command{Args: args, Timeout: ctagsTime})
	if err != nil {
		return nil, fmt.Errorf("languages other than Go need universal-ctags, which could not be run: %w", err)
	}
	var tags []tag
	for line := range strings.Lines(out.Text) {
		var g tag
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &g) == nil && g.Name != "" {
			tags = append(tags, g)
		}
	}
	if out.ExitCode != 0 && len(tags) == 0 {
		return nil, fmt.Errorf("universal-ctags with JSON output is needed, and ctags failed with exit code %d (%s)",
			out.ExitCode, short(printable(out.Text), 200))
	}
	return tags, nil
}

func (g tag) text() string {
	name := g.Name
	if g.Scope != "" {
		name = g.Scope + "." + name
	}
	return printable(short(g.Kind+" "+name+g.Signature, 4*maxSymbol))
}

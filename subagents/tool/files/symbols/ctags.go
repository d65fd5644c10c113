package symbols

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/subagents/tool/commands"
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

// Ctags has universal-ctags outline files of any language by their paths in the tree. run runs it there; nil means that it
// cannot.
func Ctags(
	ctx context.Context, run func(context.Context, commands.Command) (commands.Output, error), names []string,
) map[string]File {
	args := []string{
		"ctags", "--options=NONE", "--quiet", "--output-format=json", "--fields=+neKSs-PZ", "--sort=no", "-f", "-",
	}
	found := make(map[string]File, len(names))
	for _, name := range names {
		args = append(args, "./"+name)
		found[name] = File{}
	}
	tags, err := tagsOf(ctx, run, args)
	for _, name := range names {
		if err != nil {
			found[name] = File{Note: fmt.Sprintf("no outline: %v. Use search with an expression for definitions, such as "+
				`^\s*(export |def |class |fn |function )`+", or read_file", err)}
		}
	}
	for _, g := range tags {
		name := strings.TrimPrefix(g.Path, "./")
		if f, asked := found[name]; asked {
			f.Symbols = append(f.Symbols, Symbol{g.Line, g.End, g.line()})
			found[name] = f
		}
	}
	return found
}

func tagsOf(
	ctx context.Context, run func(context.Context, commands.Command) (commands.Output, error), args []string,
) ([]tag, error) {
	if run == nil {
		return nil, errors.New("only Go can be outlined here")
	}
	out, err := run(ctx, commands.Command{Args: args, Timeout: ctagsTime})
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
			out.ExitCode, text.Short(text.OneLine(out.Text), 200))
	}
	return tags, nil
}

func (g tag) line() string {
	name := g.Name
	if g.Scope != "" {
		name = g.Scope + "." + name
	}
	return text.OneLine(text.Short(g.Kind+" "+name+g.Signature, 4*MaxSymbol))
}

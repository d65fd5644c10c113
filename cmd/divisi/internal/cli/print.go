package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/console/display"
)

// printer writes what a command has to tell, for the readers that --output names.
type printer interface {
	// print writes values: for programs each as a line of JSON, for people all of them as text writes them. Text without a value
	// is for people alone.
	print(text func(*strings.Builder) error, values ...any) error
	// aside writes a line for people, also where programs read the output.
	aside(line string)
	// fail writes the error that ended the command.
	fail(text string, code int)
}

// printer is the one place where a command chooses between text and JSON.
func (g *Globals) printer() printer {
	if g.JSON() {
		return jsonPrinter{g.Out, g.Err}
	}
	return textPrinter{g.Out, g.Err}
}

// Print writes values as the printer does.
func (g *Globals) Print(text func(*strings.Builder) error, values ...any) error {
	return g.printer().print(text, values...)
}

// Aside writes a line for people, also where programs read the output.
func (g *Globals) Aside(line string) { g.printer().aside(line) }

// Say writes a formatted text.
func Say(format string, args ...any) func(*strings.Builder) error {
	return func(b *strings.Builder) error {
		fmt.Fprintf(b, format, args...)
		return nil
	}
}

// Anys are the values of a list.
func Anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

type textPrinter struct{ out, err io.Writer }

func (p textPrinter) print(text func(*strings.Builder) error, _ ...any) error {
	var b strings.Builder
	if err := text(&b); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func (p textPrinter) aside(line string) {
	fmt.Fprintln(p.out, display.Behind("", line, Columns(p.out)))
}

func (p textPrinter) fail(text string, _ int) {
	fmt.Fprintln(p.err, "divisi: "+strings.ReplaceAll(display.Visible(text), "\n", "\n  "))
}

type jsonPrinter struct{ out, err io.Writer }

func (p jsonPrinter) print(_ func(*strings.Builder) error, values ...any) error {
	for _, v := range values {
		if err := EncodeLine(p.out, v); err != nil {
			return err
		}
	}
	return nil
}

func (p jsonPrinter) aside(line string) { fmt.Fprintln(p.err, line) }

func (p jsonPrinter) fail(text string, code int) {
	_ = EncodeLine(p.err, map[string]any{"error": text, "exit_code": code})
}

// EncodeLine writes a value as JSON without escaping what HTML would need: prompts hold code. A terminal may show it.
func EncodeLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(text.JSON(b.Bytes()))
	return err
}

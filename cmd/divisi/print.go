package main

import "io"

// print writes a value to standard output as a line of JSON where that is asked for, and else as text to a writer. It is the one
// place where a command chooses between both.
func (g *globals) print(v any, text func() (string, error), w io.Writer) error {
	if g.json() {
		return encodeLine(g.out, v)
	}
	said, err := text()
	if err == nil {
		_, err = io.WriteString(w, said)
	}
	return err
}

package explain

import (
	"fmt"
	"io"

	"divisi/subagents/agent"
)

// partSize is the size of a part of a request, in estimated tokens (bytes/4).
type partSize struct {
	Place  string `json:"place"`
	Origin string `json:"origin,omitempty"`
	Tokens int    `json:"tokens"`
}

// sizesOf lists what a request holds in the order of its bytes: the instruction, each tool, each part of its contents.
func sizesOf(seen agent.Explained) (sizes []partSize) {
	for _, p := range sentParts(seen) {
		sizes = append(sizes, partSize{p.Place, p.Origin, p.tokens})
	}
	return sizes
}

func writeSizes(w io.Writer, seen agent.Explained) error {
	sum := 0
	for _, s := range sizesOf(seen) {
		sum += s.Tokens
		fmt.Fprintf(w, "%8d  %s", s.Tokens, s.Place)
		if s.Origin != "" {
			fmt.Fprintf(w, "  [%s]", s.Origin)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "%8d  in all, turn %d of %s\n", sum, seen.Turn, seen.Agent)
	return err
}

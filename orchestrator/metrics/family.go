// Package metrics shows numbers to programs that watch a server: the text that Prometheus reads, on this machine alone. Its input
// is a function that gathers the numbers, its output HTTP. It knows nothing of what they count.
package metrics

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Family is one metric, a gauge, with its samples.
type Family struct {
	Name, Help string
	// Labels are the names of the labels that each sample has a value for.
	Labels  []string
	Samples []Sample
}

// Sample is one number. Values are those of the labels, which may be any text.
type Sample struct {
	Values []string
	Number float64
}

// Add adds a sample.
func (f *Family) Add(number float64, values ...string) {
	f.Samples = append(f.Samples, Sample{values, number})
}

// escape is how a text format version 0.0.4 writes the value of a label.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Write writes families as text of version 0.0.4.
func Write(w io.Writer, all []Family) error {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s gauge\n", f.Name, f.Help)
		for _, s := range f.Samples {
			b.WriteString(f.Name)
			for i, name := range f.Labels {
				b.WriteByte("{,"[min(i, 1)])
				fmt.Fprintf(&b, `%s="%s"`, name, escape.Replace(s.Values[i]))
			}
			if len(f.Labels) > 0 {
				b.WriteByte('}')
			}
			b.WriteString(" " + strconv.FormatFloat(s.Number, 'g', -1, 64) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

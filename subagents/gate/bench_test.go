package gate

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"divisi/subagents/gate/testnames"

	"github.com/stretchr/testify/require"
)

func BenchmarkParse(b *testing.B) {
	for name, c := range map[string]struct{ format, file string }{
		"text": {FormatText, "testdata/cargo.txt"}, "go": {FormatGoTest, "testdata/go-all.jsonl"},
	} {
		b.Run(name, func(b *testing.B) {
			output, err := os.ReadFile(c.file)
			require.NoError(b, err)
			output = bytes.Repeat(output, 100)
			b.SetBytes(int64(len(output)))
			for b.Loop() {
				parse(c.format, output, tool{})
			}
		})
	}
}

// BenchmarkNames: of 100,000 tests little is stored, and what comparing them takes is little beside reading the output.
func BenchmarkNames(b *testing.B) {
	var output bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&output, `{"Action":"pass","Package":"example.com/large/internal/part%d","Test":"TestOfTheThing%d/with_case_%x"}`+"\n",
			i/100, i%100, i*i)
	}
	var read, compared time.Duration
	stored, plain := 0, 0
	for b.Loop() {
		began := time.Now()
		found := parse(FormatGoTest, output.Bytes(), tool{})
		read, began = read+time.Since(began), time.Now()
		base := found.ran.List()
		data, err := base.Encode()
		require.NoError(b, err)
		known, err := testnames.Decode(data)
		require.NoError(b, err)
		require.Empty(b, found.ran.Missing(known, false))
		compared += time.Since(began)
		require.Len(b, base, 100_000)
		stored, plain = len(data), 0
		for _, t := range base {
			plain += len(t.Group) + len(t.Name) + 2
		}
	}
	b.ReportMetric(float64(compared)/float64(read), "compared/read")
	b.ReportMetric(float64(plain)/float64(stored), "plain/stored")
	b.ReportMetric(float64(stored), "stored-B")
}

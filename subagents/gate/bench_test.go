package gate

import (
	"bytes"
	"os"
	"testing"

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

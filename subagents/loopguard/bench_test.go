package loopguard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const megabyte = 1 << 20

// filled repeats what a function writes until it is a megabyte.
func filled(write func(i int) string) string {
	var b strings.Builder
	for i := 0; b.Len() < megabyte; i++ {
		b.WriteString(write(i))
	}
	return b.String()[:megabyte]
}

// BenchmarkStream is what watching a stream costs, in pieces of 8 bytes as models send them, beside copying the same pieces.
func BenchmarkStream(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("the of and to in is that for it as was with be by on not he his but at are this have from or an they " +
		"which one you were all her she there would their we him been has when who will no more if out so up said what its")
	texts := []struct{ name, text string }{
		{"prose", filled(func(i int) string {
			if i%12 == 11 {
				return fmt.Sprintf("%s%d.\n", words[r.IntN(len(words))], i)
			}
			return words[r.IntN(len(words))] + " "
		})},
		{"code", "```go\n" + filled(func(i int) string { return fmt.Sprintf("\tif err := f%d(ctx); err != nil {\n", i) })},
		{"list", filled(func(i int) string {
			return fmt.Sprintf("- Replace the deprecated constructor by the new one and mend all of its callers in part%d.go\n", i)
		})},
		{"chinese", filled(func(i int) string {
			return fmt.Sprintf("我现在再看一遍第%d个文件，确认它的内容是正确的。", i)
		})},
	}
	for _, text := range texts {
		b.Run(text.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g := New()
				for rest := text.text; rest != ""; {
					n := min(8, len(rest))
					if g.Text(rest[:n]) != nil {
						b.Fatal("a strike")
					}
					rest = rest[n:]
				}
			}
			perMegabyte(b, len(text.text))
		})
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			var all []byte
			for rest := texts[0].text; rest != ""; rest = rest[8:] {
				all = append(all, rest[:8]...)
			}
			if len(all) != megabyte {
				b.Fatal(len(all))
			}
		}
		perMegabyte(b, megabyte)
	})
}

func perMegabyte(b *testing.B, size int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N)*megabyte/float64(size), "ms/MB")
}

// BenchmarkCall is what a call with its result costs.
func BenchmarkCall(b *testing.B) {
	args := map[string]any{"path": "a/b/c.go", "old": strings.Repeat("x", 500), "new": strings.Repeat("y", 500), "line": 7.0}
	b.ReportAllocs()
	g := New()
	for i := 0; b.Loop(); i++ {
		args["line"] = float64(i)
		if g.Call("edit_file", args) != nil {
			b.Fatal("a strike")
		}
		g.EndTurn()
		g.Result(map[string]any{"output": "ok"})
	}
}

// BenchmarkClone is what it costs to watch one more turn.
func BenchmarkClone(b *testing.B) {
	g := New()
	g.Text("a")
	g.Thought("a")
	b.ReportAllocs()
	for b.Loop() {
		g.Clone()
	}
}

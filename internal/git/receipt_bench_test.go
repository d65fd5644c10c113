package git

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// BenchmarkReceipt imports and checks patches that change and add files, as a conductor does with each that it gets.
func BenchmarkReceipt(b *testing.B) {
	for _, n := range []int{1, 1000} {
		for _, kind := range []string{"changed", "added"} {
			b.Run(fmt.Sprintf("%d %s", n, kind), func(b *testing.B) {
				u := newCommitted(b)
				for i := range 3000 {
					u.write(fmt.Sprintf("pkg%d/f%d.go", i/30, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 20))
				}
				u.commit("many")
				from, to := u.mirrored(), u.mirrored()
				packs, patches := make([][]byte, b.N), make([]spec.Patch, b.N)
				for at := range b.N {
					files := map[string]string{}
					for i := range n {
						name := fmt.Sprintf("pkg%d/f%d.go", i/30, i)
						if kind == "added" {
							name = fmt.Sprintf("pkg%d/new%d.go", i/30, i)
						}
						files[name] = fmt.Sprintf("patch %d\n", at) + strings.Repeat(fmt.Sprintf("line of %d\n", i), 20)
					}
					patches[at] = from.patchOf(from.base, from.change(from.base, files))
					var err error
					packs[at], err = from.m.Pack(b.Context(), patches[at].Commit, from.base)
					require.NoError(b, err)
				}
				b.ResetTimer()
				for at := range b.N {
					require.NoError(b, to.m.Import(b.Context(), packs[at]))
					require.NoError(b, CheckPatch(b.Context(), to.m, patches[at], all))
				}
			})
		}
	}
}

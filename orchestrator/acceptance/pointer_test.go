package acceptance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPointersStay(t *testing.T) {
	t.Parallel()
	pointer := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0f", 32) + "\nsize 7\n")
	other := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0e", 32) + "\nsize 7\n")
	for name, tt := range map[string]struct {
		change Change
		want   Decision
	}{
		"another content":  {Change{Path: "a.dat", Before: pointer, After: []byte("new\n")}, Refuse},
		"another pointer":  {Change{Path: "a.dat", Before: pointer, After: other}, Refuse},
		"a large content":  {Change{Path: "a.dat", Before: pointer, Unread: "it has 9 bytes, more than 8"}, Refuse},
		"its mode":         {Change{Path: "a.dat"}, Pass},
		"removed":          {Change{Path: "a.dat", Before: pointer}, Pass},
		"moved to":         {Change{Path: "b.dat", After: pointer}, Pass},
		"new of LFS":       {Change{Path: "b.dat", Filter: "lfs", After: []byte("new\n")}, Refuse},
		"a large new one":  {Change{Path: "b.dat", Filter: "lfs", Unread: "it has 9 bytes, more than 8"}, Refuse},
		"a raw one":        {Change{Path: "b.dat", Filter: "lfs", Before: []byte("old\n"), After: []byte("new\n")}, Refuse},
		"a new pointer":    {Change{Path: "b.dat", Filter: "lfs", After: pointer}, Pass},
		"an empty one":     {Change{Path: "b.dat", Filter: "lfs", After: []byte{}}, Pass},
		"to be encrypted":  {Change{Path: "k", Filter: "git-crypt-team", After: []byte("secret\n")}, Refuse},
		"a pointer there":  {Change{Path: "k", Filter: "git-crypt", After: pointer}, Refuse},
		"by transcrypt":    {Change{Path: "k", Filter: "crypt", Before: []byte("U2FsdGVk"), After: []byte("secret\n")}, Refuse},
		"encrypted":        {Change{Path: "k", Filter: "git-crypt", After: []byte("\x00GITCRYPT\x00xyz")}, Pass},
		"another filter":   {Change{Path: "a.ipynb", Filter: "nbstripout", After: []byte("{}\n")}, Pass},
		"removed from LFS": {Change{Path: "b.dat", Filter: "lfs", Before: []byte("old\n")}, Pass},
		"no pointer":       {Change{Path: "a.dat", Before: []byte("old\n"), After: []byte("new\n")}, Pass},
	} {
		found := pointers(&Patch{Changes: []Change{tt.change}})
		require.Equal(t, tt.want == Refuse, len(found) == 1 && found[0].Decision == Refuse, name)
		require.LessOrEqual(t, len(found), 1)
	}
}

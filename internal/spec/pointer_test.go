package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePointer(t *testing.T) {
	t.Parallel()
	oid := strings.Repeat("0f", 32)
	text := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 7\n"
	p, ok := ParsePointer([]byte(text))
	require.True(t, ok)
	require.Equal(t, Pointer{OID: oid, Size: 7}, p)
	for _, bad := range []string{
		"", "x", text + "more\n", text[:len(text)-1], "\n" + text, "version https://git-lfs.github.com/spec/v1\noid sha256:../../x\nsize 1\n",
		"version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize -1\n",
		"version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 99999999999999999999\n",
	} {
		_, ok := ParsePointer([]byte(bad))
		require.False(t, ok, "%q", bad)
	}
}

package git

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAuthorOf(t *testing.T) {
	t.Parallel()
	set := func(name, email string) settings {
		return settings{"user.name": {name}, "user.email": {email}}
	}
	for _, tc := range []struct {
		user, own settings
		want      Ident
	}{
		{set("Ann", "a@b"), nil, Ident{"Ann", "a@b"}},
		{set("Ann", "a@b"), settings{"user.email": {"work@b"}}, Ident{"Ann", "work@b"}},
		{set(`"Acme <Inc>.",`, " a@b\n"), nil, Ident{"Acme Inc", "a@b"}},
		{set(".", "a@b"), nil, Ident{}},
		{set("Ann", ""), nil, Ident{}},
		{nil, nil, Ident{}},
	} {
		got := authorOf(tc.user, tc.own)
		require.Equal(t, tc.want, got)
		if got != (Ident{}) {
			require.NoError(t, got.check())
		}
	}
}

package spec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBudgets(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Budget{
		"0": {}, "2_000_000": Tokens(2_000_000), "5usd": {5 * int64(Dollar), true}, "$5": {5 * int64(Dollar), true},
		"0.000000000001usd": {1, true},
	} {
		b, err := ParseBudget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, b, text)
		var again Budget
		data, err := json.Marshal(b)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, b, again, "%s", data)
	}
	for _, text := range []string{
		"", "-5", "-5usd", "$-5", "5eur", "€5", "usd", "1/2usd", "1e3usd", "5.5", "0.0000000000001usd", "1000001usd", "x", "1.2.3usd",
		"99999999999999999999", "0usd", "$0", "$0.00", "0.0USD",
	} {
		_, err := ParseBudget(text)
		require.Error(t, err, text)
	}
	b := Tokens(1000)
	require.False(t, b.Used(Sum{Tokens: 799}, 80))
	require.True(t, b.Used(Sum{Tokens: 800}, 80))
	require.False(t, Budget{}.Used(Sum{Tokens: 800}, 80))
	large := Budget{int64(MaxMoney), true}
	require.True(t, large.Used(Sum{Money: MaxMoney}, 100))
	require.False(t, large.Used(Sum{Money: MaxMoney / 2}, 95))
}

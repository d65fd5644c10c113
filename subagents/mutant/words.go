package mutant

import (
	"strings"

	"divisi/internal/lazyregexp"
)

// opaque is what only a shell understands.
var opaque = lazyregexp.New("[|<>`\n]|\\$\\(")

// Words cuts a script as a shell does; none where only a shell understands it.
func Words(script string) (list []string) {
	if opaque.MatchString(script) {
		return nil
	}
	var b strings.Builder
	quote, open := byte(0), false
	flush := func() {
		if open {
			list = append(list, b.String())
		}
		b.Reset()
		open = false
	}
	for i := 0; i < len(script); i++ {
		c := script[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(script):
			i++
			b.WriteByte(script[i])
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			flush()
		case quote == 0 && c == ';':
			flush()
			list = append(list, ";")
		default:
			open = true
			b.WriteByte(c)
		}
	}
	flush()
	return list
}

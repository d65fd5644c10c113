package spec

import "strings"

// EscapeTemplate writes a text so that it is itself when it is expanded as an instruction: it has no keys then. What stands for
// itself already is left as it is.
func EscapeTemplate(text string) string {
	tmpl, _ := ParseTemplate(text)
	if same, err := tmpl.Expand(func(TemplateKey) (string, error) { return "", ErrNoValue }); err == nil && same == text {
		return text
	}
	var b strings.Builder
	open := 0
	for i := range len(text) {
		c := text[i]
		b.WriteByte(c)
		switch {
		case c == '{':
			open++
			b.WriteByte(c)
		case c == '}' && open > 0: // elsewhere }} would stay two
			open--
			b.WriteByte(c)
		}
	}
	return b.String()
}

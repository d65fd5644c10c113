package display

import (
	"bytes"
	"unicode/utf8"
)

// plainly are the characters of the live part and of reports in ASCII.
var plainly = map[rune]byte{
	'█': '#', '▓': 'x', '▒': '+', '░': '.', '·': '|', '…': '~', '×': 'x', '−': '-', '–': '-', '—': '-', '─': '-', '→': '>',
	'≥': '>',
	'“': '"', '”': '"', '‘': '\'', '’': '\'',
}

// ASCII replaces what is no ASCII, one character by one.
func ASCII(p []byte) []byte {
	if !bytes.ContainsFunc(p, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return p
	}
	out := make([]byte, 0, len(p))
	for _, r := range string(p) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case plainly[r] != 0:
			out = append(out, plainly[r])
		default:
			out = append(out, '?')
		}
	}
	return out
}

package testsource

import "strings"

// QuotedEnd is the place behind a string that begins at i. A string in one quote ends with its line.
func QuotedEnd(part string, i int) int {
	quote := part[i]
	if triple := strings.Repeat(part[i:i+1], 3); strings.HasPrefix(part[i:], triple) {
		if end := strings.Index(part[i+3:], triple); end >= 0 {
			return i + 3 + end + 3
		}
	}
	for j := i + 1; j < len(part); j++ {
		switch {
		case part[j] == '\\':
			j++
		case part[j] == quote:
			return j + 1
		case part[j] == '\n' && quote != '`':
			return j
		}
	}
	return len(part)
}

// ExpressionEnd is the place behind an expression of JavaScript that begins with a slash, such as /a"b/; i where a slash divides.
func ExpressionEnd(part string, i int) int {
	if before := strings.TrimRight(part[:i], " \t"); before != "" && !strings.Contains("(,=:[!&|?{};\n", before[len(before)-1:]) {
		return i
	}
	for j := i + 1; j < len(part) && part[j] != '\n'; j++ {
		switch part[j] {
		case '\\':
			j++
		case '/':
			return j + 1
		}
	}
	return i
}

// next is the place behind what begins at i: a string, an expression or one byte.
func next(part string, i int) int {
	switch part[i] {
	case '"', '\'', '`':
		return QuotedEnd(part, i)
	case '/':
		return max(i+1, ExpressionEnd(part, i))
	}
	return i + 1
}

// bracket is 1 for a bracket that opens, -1 for one that closes.
func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// balanced is the place behind the bracket that closes the one at i.
func balanced(part string, i int) int {
	for depth := 0; i < len(part); i = next(part, i) {
		if depth += bracket(part[i]); depth == 0 {
			return i + 1
		}
	}
	return len(part)
}

// commas cuts a text at the commas that are in no bracket and no string.
func commas(text string) (out []string) {
	from, depth := 0, 0
	for i := 0; i < len(text); i = next(text, i) {
		if depth += bracket(text[i]); text[i] == ',' && depth == 0 {
			out, from = append(out, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(out, strings.TrimSpace(text[from:]))
}

// link is one more name in a chain such as expect(a).not.toBe(b).
var link = re(`^(?:\s*[!?]?\.\s*[\w$]+|!)`)

// chainEnd is the place behind the calls and names that follow one another from i on.
func chainEnd(part string, i int) int {
	for i < len(part) {
		if part[i] == '(' {
			i = balanced(part, i)
		} else if m := link.FindStringIndex(part[i:]); m != nil {
			i += m[1]
		} else {
			break
		}
	}
	return min(i, len(part))
}

// statement is one statement of Python: a line, with those that its brackets hold together.
type statement struct {
	at, indent int
	text       string
}

// statements are the statements of a language whose blocks are indented.
func statements(part string) (out []statement) {
	from, depth := 0, 0
	for i := 0; i <= len(part); {
		if i < len(part) && (part[i] != '\n' || depth > 0) {
			depth += bracket(part[i])
			i = next(part, i)
			continue
		}
		text := part[from:i]
		if body := strings.TrimLeft(text, " \t\r\n"); body != "" {
			at := from + len(text) - len(body)
			out = append(out, statement{at, at - 1 - strings.LastIndexByte(part[:at], '\n'), strings.TrimSpace(body)})
		}
		i++
		from, depth = i, 0
	}
	return out
}

// statementEnd is the place behind the statement that begins at i: with its line, but for open brackets and chains of calls.
func statementEnd(part string, i int) int {
	for depth := 0; i < len(part); i = next(part, i) {
		if depth += bracket(part[i]); depth < 0 {
			return i
		}
		after := strings.TrimLeft(part[i:], " \t\r\n")
		if depth == 0 && (part[i] == ';' || part[i] == '\n' && !strings.HasPrefix(after, ".")) {
			return i
		}
	}
	return len(part)
}
